// From 2.22: batches behind the kernel's arguments (ncclDevWorkBatch, ncclDevWorkP2p,
// ncclDevWorkColl of src/include/device.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "work.h"

namespace softcuda {
namespace {

enum WorkType : unsigned {
  kP2p = 0,
  kColl = 1
};  // ncclDevWorkType; others are for registered buffers

struct BatchHeader {  // ncclDevWorkBatch; the function's number starts at bit 17
  std::uint32_t flags;
  std::uint32_t offset_base;
  std::uint64_t offsets;

  unsigned jump() const { return flags & 0x3fff; }
  bool extends() const { return (flags >> 14 & 1) != 0; }
  unsigned type() const { return flags >> 15 & 3; }
  unsigned function(int bits) const { return flags >> 17 & ((1U << bits) - 1); }
};
static_assert(sizeof(BatchHeader) == 16);

struct P2pWork {  // ncclDevWorkP2p, the same from 2.22 to 2.32
  char *send_address, *recv_address;
  std::size_t send_bytes, recv_bytes;
  int send_rank, recv_rank;
  std::uint8_t p2p_channels, channel_base, send_channels, recv_channels;
  std::uint8_t send_chunk, recv_chunk;  // as 8-bit floating-point numbers
  std::uint8_t flags;
  std::uint8_t padding;
};
static_assert(sizeof(P2pWork) == 48);
constexpr std::uint8_t kSendLL = 1, kRecvLL = 2, kProfiled = 0x40;
constexpr std::uint8_t kRefusedP2pFlags = 0x3c;  // registered with the NIC, with the peer

// u32fp8Decode: 5 bits exponent, 3 bits mantissa.
std::size_t decode_chunk(std::uint8_t code) {
  const unsigned exponent = code >> 3;
  const unsigned mantissa = (code & 7U) | (exponent != 0 ? 8U : 0U);
  return std::size_t{mantissa} << (exponent != 0 ? exponent - 1 : 0);
}

ssize_t grain_bytes(Protocol protocol) {  // ncclProtoGrainSize
  switch (protocol) {
    case Protocol::kLL:
      return 16;
    case Protocol::kLL128:
      return 1920;
    case Protocol::kSimple:
      return 512;
  }
  return 0;
}

class Reader final : public WorkReader {
 public:
  using WorkReader::WorkReader;

 private:
  void read_channel(int channel, std::size_t index) override {
    ChannelProgram& out = program_.channels.emplace_back();
    out.channel = channel;
    const auto* headers = reinterpret_cast<const BatchHeader*>(arguments_.work);
    bool extended = false;
    for (;;) {
      const BatchHeader header = headers[index];
      if (!extended) out.batches.emplace_back();
      read_batch(header, channel, out);
      if (!program_.refusal.empty() || header.jump() == 0) return;
      extended = header.extends();
      index += header.jump();
    }
  }

  void read_batch(const BatchHeader& header, int channel, ChannelProgram& out) {
    const unsigned id = header.function(module_.layout().func_bits);
    const auto function = module_.function(id);
    if (!function || header.type() > kColl) {
      refuse(fmt::format("{} (work type {})", module_.function_name(id), header.type()));
      return;
    }
    const std::size_t size = header.type() == kP2p ? sizeof(P2pWork) : module_.layout().coll.bytes;
    for (int i = 0; i < 64 && program_.refusal.empty(); ++i) {
      if ((header.offsets >> i & 1) == 0) continue;
      void* work =
          address(header.offset_base + static_cast<std::uint32_t>(i * static_cast<int>(size)));
      out.batches.back().told.push_back(is_told(header.type(), work));
      if (header.type() == kP2p)
        read_p2p(*static_cast<const P2pWork*>(work), channel, out.batches.back());
      else
        read_collective(*function, work, channel, out.batches.back());
    }
    constexpr int kFifo = 1;
    if (arguments_.storage == kFifo && header.offsets != 0) {
      const auto used = static_cast<std::uint32_t>(64 - std::countl_zero(header.offsets));
      out.work_consumed = header.offset_base + used * static_cast<std::uint32_t>(size);
    }
  }

  bool is_told(unsigned type, void* work) const {
    const std::uint32_t flag = module_.layout().profiler.flag;
    if (flag == 0) return true;
    return type == kP2p ? (static_cast<const P2pWork*>(work)->flags & kProfiled) != 0
                        : (field<std::uint32_t>(work, 0) & flag) != 0;
  }

  void* address(std::uint32_t offset) const {
    return arguments_.storage == 0 ? arguments_.base + offset
                                   : arguments_.work_buffer + (offset & arguments_.work_mask);
  }

  void read_p2p(const P2pWork& work, int channel, Batch& out) {
    if ((work.flags & kRefusedP2pFlags) != 0) {
      refuse("SendRecv with registered buffers");
      return;
    }
    const bool local = work.send_rank == comm_.rank();
    for (const bool sending : {true, false}) {
      const std::size_t bytes = sending ? work.send_bytes : work.recv_bytes;
      const int parts = sending ? work.send_channels : work.recv_channels;
      const int part = part_of(channel, work);
      if (part >= parts) continue;
      constexpr std::size_t kGrain = 4096;
      const auto count = static_cast<std::size_t>(parts);
      const std::size_t share = ((bytes + count - 1) / count + kGrain - 1) / kGrain * kGrain;
      const std::size_t begin = std::min(static_cast<std::size_t>(part) * share, bytes);
      const std::size_t end = std::min(begin + share, bytes);
      const bool ll = (work.flags & (sending ? kSendLL : kRecvLL)) != 0;
      if (!local)
        out.transfers.push_back({sending, sending ? work.send_rank : work.recv_rank,
                                 (sending ? work.send_address : work.recv_address) + begin,
                                 end - begin,
                                 decode_chunk(sending ? work.send_chunk : work.recv_chunk),
                                 ll ? Protocol::kLL : Protocol::kSimple});
      else if (sending)
        out.copies.push_back({work.send_address + begin, work.recv_address + begin, end - begin});
    }
  }

  int part_of(int channel, const P2pWork& work) const {
    unsigned distance =
        static_cast<unsigned>(channel - work.channel_base) & (work.p2p_channels - 1U);
    if (!module_.layout().p2p_parts_reversed) return static_cast<int>(distance);
    unsigned part = 0;
    for (unsigned bit = 1; bit < work.p2p_channels; bit <<= 1, distance >>= 1)
      part = part << 1 | (distance & 1);
    return static_cast<int>(part);
  }

  // Continuous-byte distribution: the channels low and high have a share of their own, those
  // between an equal one.
  void read_collective(const Function& function, void* work, int channel, Batch& out) {
    const auto& at = module_.layout().coll;
    const auto flags = field<std::uint32_t>(work, 0);
    if ((flags & at.refused_flags) != 0) {
      refuse("a collective on registered buffers or with a scalar behind a pointer");
      return;
    }
    const int low = static_cast<int>(flags & 0xff), high = static_cast<int>(flags >> 8 & 0xff);
    std::array<ssize_t, 3> counts{};  // low, middle, high
    std::memcpy(counts.data(), static_cast<const char*>(work) + at.count, sizeof counts);
    const auto grains = field<std::uint64_t>(work, at.count + sizeof counts);  // 3 times 21 bits
    const int middles = high - low - 1;
    const int share = channel == low ? 0 : channel == high ? 2 : 1;
    ssize_t begin = 0;
    if (share > 0) begin += counts[0];
    if (share == 1) begin += (channel - low - 1) * counts[1];
    if (share == 2) begin += middles * counts[1];
    constexpr std::uint64_t kGrainMask = (1U << 21) - 1;
    const ssize_t size = size_of(function.type);
    const auto chunk = static_cast<ssize_t>(grains >> (21 * share) & kGrainMask) *
                       (grain_bytes(function.protocol) / size);
    out.collectives.push_back(
        {function, field<const char*>(work, at.send), field<char*>(work, at.recv),
         field<int>(work, at.root), counts[0] + middles * counts[1] + counts[2],
         field<std::uint64_t>(work, at.op_arg),
         cut(function, begin, begin + counts[static_cast<std::size_t>(share)], chunk, size)});
  }

  std::vector<Stretch> cut(const Function& function, ssize_t begin, ssize_t end, ssize_t chunk,
                           ssize_t size) {
    std::vector<Stretch> stretches;
    const bool per_rank = has_chunk_per_rank(function);
    const ssize_t nranks = comm_.nranks(), loop = per_rank ? nranks * chunk : chunk;
    if (loop <= 0 && begin < end) refuse("a collective without a chunk size");
    for (ssize_t at = begin; at < end && loop > 0; at += loop) {
      ssize_t own = chunk;
      if (per_rank && end - at < loop) {  // the rest, evenly, in units of 16 bytes
        const ssize_t unit = 16 / size;
        own = ((end - at + nranks - 1) / nranks + unit - 1) / unit * unit;
      }
      stretches.push_back({at, own, end, own});
    }
    return stretches;
  }
};

}  // namespace

Program read_work_batches(const Module& module, const Communicator& comm,
                          const KernelArguments& arguments) {
  return Reader(module, comm, arguments).read();
}

}  // namespace softcuda
