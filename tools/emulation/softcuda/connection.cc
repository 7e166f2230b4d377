#include "connection.h"

namespace softcuda {
namespace {

// In NCCL's arrays by protocol; the layout has this one's place.
constexpr auto kSimpleIndex = static_cast<std::size_t>(Protocol::kSimple);

}  // namespace

char* Connection::slot(std::uint64_t step, ssize_t default_step_bytes) const {
  constexpr int kModeOffset = 1;  // NCCL_MODE_OFFSET: the proxy chose the place
  const std::uint64_t index = step % kSteps;
  char* buffer = field<char*>(info_, layout_->conn.buffer);
  if (layout_->conn.offsets != 0) {
    const auto* offsets = field<const volatile int*>(info_, layout_->conn.offsets);
    if (offsets != nullptr) return buffer + offsets[index];
  } else if (char* queue = sizes(); queue != nullptr) {
    char* entry = queue + index * layout_->slot.bytes;
    if (field<volatile int>(entry, layout_->slot.mode) == kModeOffset)
      return buffer + (layout_->slot.offset_bytes == sizeof(int)
                           ? field<volatile int>(entry, layout_->slot.offset)
                           : field<volatile ssize_t>(entry, layout_->slot.offset));
  }
  const ssize_t step_bytes = layout_->conn.step_size == 0
                                 ? default_step_bytes
                                 : field<int>(info_, layout_->conn.step_size);
  return buffer + static_cast<ssize_t>(index) * step_bytes;
}

char* Connection::line_slot(Protocol protocol, std::uint64_t step, ssize_t step_bytes) const {
  const std::size_t before = kSimpleIndex - static_cast<std::size_t>(protocol);
  char* buffer = field<char*>(info_, layout_->conn.buffer - before * sizeof(char*));
  return buffer + static_cast<ssize_t>(step % kSteps) * step_bytes;
}

void Connection::set_size(std::uint64_t step, ssize_t bytes) const {
  char* queue = sizes();
  if (queue == nullptr) return;  // no proxy on this side
  char* entry = queue + (step % kSteps) * layout_->slot.bytes;
  if (layout_->slot.size_bytes == sizeof(int))
    field<volatile int>(entry, layout_->slot.size) = static_cast<int>(bytes);
  else
    field<volatile ssize_t>(entry, layout_->slot.size) = bytes;
}

Connection Channel::connection(int peer, int index) const {
  auto** peers = field<char**>(channel_, 0);  // ncclDevChannelPeer: send[2], recv[2]
  return {*layout_, peers[peer] + index * layout_->conn.bytes};
}

TreePlace Channel::tree() const {  // ncclTree: depth, up, down[3]; -1 where there is none
  const auto* tree = &field<const int>(channel_, layout_->channel.tree);
  constexpr int kUp = 1, kDown = 2, kMostChildren = 3;
  TreePlace place;
  if (tree[kUp] >= 0) place.parent = tree[kUp];
  for (int i = 0; i < kMostChildren && tree[kDown + i] >= 0; ++i)
    place.children.push_back(tree[kDown + i]);
  return place;
}

ssize_t Communicator::step_bytes(Protocol protocol) const {
  const std::size_t before = kSimpleIndex - static_cast<std::size_t>(protocol);
  return field<int>(comm_, layout_->comm.simple_buffer - before * sizeof(int)) / kSteps;
}

Channel Communicator::channel(int index) const {
  return {*layout_, field<char*>(comm_, layout_->comm.channels) + index * layout_->channel.bytes};
}

volatile std::uint32_t* Communicator::work_consumed(int channel) const {
  if (layout_->comm.work_consumed == 0) return nullptr;
  auto* counters = field<volatile std::uint32_t*>(comm_, layout_->comm.work_consumed);
  return counters == nullptr ? nullptr : counters + channel;
}

}  // namespace softcuda
