// Up to 2.21: per channel a list of 512-byte ncclWork (src/include/devcomm.h, from 2.19
// src/include/device.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "rounds.h"
#include "work.h"

namespace softcuda {
namespace {

constexpr std::size_t kWorkBytes = 512, kHeaderBytes = 8;

enum WorkType : unsigned char { kColl = 1, kP2p = 2 };  // ncclWorkType

struct P2pElement {  // ncclWorkElemP2p
  int peer : 30;
  unsigned protocol : 2;
  std::uint8_t type;   // 0 unused, 1 send, 2 receive
  std::uint8_t flags;  // from 2.20 bit 0: registered buffer; warps otherwise
  std::uint8_t first_warp, groups;
  std::uint32_t address_high, address_low, bytes_high, bytes_low;
  int chunk;

  char* address() const {
    return reinterpret_cast<char*>(std::uintptr_t{address_high} << 32 | address_low);
  }
  std::size_t bytes() const { return std::size_t{bytes_high} << 32 | bytes_low; }
};
static_assert(sizeof(P2pElement) == 28);
constexpr std::size_t kP2pElements = 16;

class Reader final : public WorkReader {
 public:
  using WorkReader::WorkReader;

 private:
  void read_channel(int channel, std::size_t index) override {
    ChannelProgram& out = program_.channels.emplace_back();
    out.channel = channel;
    const char* work = arguments_.work + index * kWorkBytes;
    for (;;) {
      std::array<char, kWorkBytes> copy;
      std::memcpy(copy.data(), work, copy.size());
      std::int32_t next;  // when last: what to tell once read
      std::uint16_t function;
      std::memcpy(&next, copy.data(), sizeof next);
      std::memcpy(&function, copy.data() + 4, sizeof function);
      const bool last = (copy[6] & 1) != 0, in_fifo = (copy[6] & 2) != 0;
      read_work(function, static_cast<unsigned char>(copy[7]), copy.data(),
                out.batches.emplace_back());
      if (last && in_fifo) out.work_done = static_cast<std::uint32_t>(next);
      if (last || !program_.refusal.empty()) return;
      work = arguments_.work + next * static_cast<ssize_t>(kWorkBytes);
    }
  }

  void read_work(unsigned id, unsigned char type, char* work, Batch& out) {
    const auto function = module_.function(id);
    if (!function || (type != kColl && type != kP2p)) {
      refuse(fmt::format("{} (work type {})", module_.function_name(id), type));
    } else if (type == kP2p) {
      read_p2p(work + kHeaderBytes, out);
    } else {
      const std::size_t size = module_.layout().coll.bytes;
      for (char* element = work + kHeaderBytes; element + size <= work + kWorkBytes;
           element += size)
        if ((*element & 1) != 0) read_collective(*function, element, out);  // isUsed
    }
  }

  // A receive stands before the send of the same round.
  void read_p2p(const char* elements, Batch& out) {
    std::array<P2pElement, kP2pElements> all;
    std::memcpy(all.data(), elements, sizeof all);
    constexpr int kNobody = -1;
    for (std::size_t i = 0; i < all.size() && i < all[0].groups; ++i) {
      const P2pElement& element = all[i];
      if (element.type == 0 || element.peer == kNobody) continue;
      const bool sending = i % 2 == 1;
      if (element.peer == comm_.rank()) {
        if (sending)
          out.copies.push_back({element.address(), all[i - 1].address(), element.bytes()});
      } else if (module_.layout().style == WorkStyle::kParts && (element.flags & 1) != 0) {
        refuse("SendRecv with registered buffers");
      } else {
        const auto protocol = static_cast<Protocol>(element.protocol);
        const auto chunk = static_cast<std::size_t>(element.chunk);
        out.transfers.push_back({sending, element.peer, element.address(), element.bytes(),
                                 protocol == Protocol::kLL ? chunk / 2 : chunk, protocol});
      }
    }
  }

  void read_collective(const Function& function, char* element, Batch& out) {
    const auto& at = module_.layout().coll;
    if ((field<std::uint32_t>(element, 0) & at.refused_flags) != 0) {
      refuse("a collective on registered buffers or with a scalar behind a pointer");
      return;
    }
    const auto count = field<ssize_t>(element, at.count);
    out.collectives.push_back(
        {function, field<const char*>(element, at.send), field<char*>(element, at.recv),
         field<int>(element, at.root), count, field<std::uint64_t>(element, at.op_arg),
         module_.layout().style == WorkStyle::kRounds ? cut_rounds(rounds(function, element, count))
                                                      : part(function, element)});
  }

  // 2.18, 2.19: nWarps, lastChunkSize, bid, nChannels of ncclWorkElem.
  RoundsWork rounds(const Function& function, const char* element, ssize_t count) const {
    const auto byte = [element](std::size_t at) {
      return ssize_t{static_cast<unsigned char>(element[at])};
    };
    RoundsWork work{.function = function,
                    .count = count,
                    .index = byte(44),
                    .channels = byte(45),
                    .threads = byte(1) * 32,
                    .nranks = comm_.nranks(),
                    .last_chunk = 0,
                    .step_bytes = comm_.step_bytes(function.protocol)};
    std::memcpy(&work.last_chunk, element + 32, sizeof work.last_chunk);
    return work;
  }

  // 2.20, 2.21: chunkCount:25, workCount:39, lastChunkCount:25, workOffset:39.
  std::vector<Stretch> part(const Function& function, char* element) {
    const auto first = field<std::uint64_t>(element, 40),
               second = field<std::uint64_t>(element, 48);
    constexpr std::uint64_t kChunkMask = (1U << 25) - 1;
    const auto chunk = static_cast<ssize_t>(first & kChunkMask),
               length = static_cast<ssize_t>(first >> 25);
    const auto last = static_cast<ssize_t>(second & kChunkMask),
               begin = static_cast<ssize_t>(second >> 25);
    const bool per_rank = has_chunk_per_rank(function);
    const ssize_t loop = per_rank ? comm_.nranks() * chunk : chunk;
    std::vector<Stretch> stretches;
    if (loop <= 0 && length > 0) refuse("a collective without a chunk size");
    for (ssize_t done = 0; done < length && loop > 0; done += loop) {
      const ssize_t own = per_rank && length - done < loop ? last : chunk;
      stretches.push_back({begin + done, own, begin + length, own});
    }
    return stretches;
  }
};

}  // namespace

Program read_work_lists(const Module& module, const Communicator& comm,
                        const KernelArguments& arguments) {
  return Reader(module, comm, arguments).read();
}

}  // namespace softcuda
