#include "debug_layout.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "debug_types.h"

namespace softcuda {
namespace {

constexpr int kSimple = 2;  // NCCL_PROTO_SIMPLE

class Reader {
 public:
  Reader(const DebugTypes& types, std::string_view structure)
      : types_(types), structure_(structure) {}

  // The first of these fields that is there.
  std::uint16_t offset(std::initializer_list<std::string_view> fields) const {
    for (const std::string_view field : fields)
      if (const auto found = types_.find(structure_, field))
        return static_cast<std::uint16_t>(found->offset);
    return 0;
  }
  std::uint16_t offset(std::string_view field) const { return offset({field}); }

  // Noted as missing where it isn't there.
  std::uint16_t needed(std::string_view field) {
    if (!types_.find(structure_, field) && missing_.empty())
      missing_ = fmt::format("{}.{}", structure_, field);
    return offset(field);
  }

  std::uint16_t bytes() const { return static_cast<std::uint16_t>(types_.bytes(structure_)); }
  std::uint16_t bytes(std::string_view field) const {
    const auto found = types_.find(structure_, field);
    return static_cast<std::uint16_t>(found ? found->bytes : 0);
  }
  bool has(std::string_view field) const { return types_.find(structure_, field).has_value(); }

  // The bits of the first 32-bit word that these flags take.
  std::uint32_t mask(std::initializer_list<std::string_view> flags) const {
    std::uint32_t mask = 0;
    for (const std::string_view flag : flags)
      if (const auto found = types_.find(structure_, flag)) {
        const std::size_t bits = found->bits != 0 ? found->bits : 8 * found->bytes;
        const std::size_t first = found->bits != 0 ? found->first_bit : 8 * found->offset;
        mask |= ((1U << bits) - 1) << first;
      }
    return mask;
  }

  const std::string& missing() const { return missing_; }

 private:
  const DebugTypes& types_;
  const std::string_view structure_;
  std::string missing_;
};

}  // namespace

DebugLayout read_debug_layout(const std::string& library, int nccl_version) {
  const DebugTypes types(
      library, {"ncclConnInfo", "ncclConnFifo", "ncclKernelComm", "ncclDevComm", "ncclDevChannel",
                "ncclDevWorkColl", "ncclWorkElem", "ncclDevWorkBatch", "ncclDevProfiler"});
  if (!types.has("ncclConnInfo")) return {};
  const bool batches = types.has("ncclDevWorkBatch"), coll = types.has("ncclDevWorkColl");
  Reader conn(types, "ncclConnInfo"), slot(types, "ncclConnFifo");
  // From 2.27 ncclDevComm is another one: that of NCCL's device interface.
  Reader comm(types, types.has("ncclKernelComm") ? "ncclKernelComm" : "ncclDevComm");
  Reader channel(types, "ncclDevChannel"), work(types, coll ? "ncclDevWorkColl" : "ncclWorkElem");

  Layout made{};
  made.first = made.last = nccl_version;
  made.source = "its debug information";
  made.conn = {.bytes = conn.bytes(),
               .buffer = static_cast<std::uint16_t>(conn.needed("buffs") + 8 * kSimple),
               .tail = conn.needed("tail"),
               .head = conn.needed("head"),
               .step_size = conn.offset("stepSize"),
               .sizes = conn.offset({"connFifo", "sizesFifo"}),
               .offsets = conn.offset("offsFifo"),
               .step = conn.needed("step")};
  constexpr std::uint16_t kInt = 4;  // without ncclConnFifo an array of int
  const bool slots = types.has("ncclConnFifo");
  made.slot = {.bytes = slots ? slot.bytes() : kInt,
               .mode = slot.offset("mode"),
               .offset = slot.offset("offset"),
               .offset_bytes = slot.bytes("offset"),
               .size = slot.offset("size"),
               .size_bytes = slots ? slot.bytes("size") : kInt};
  made.comm = {.simple_buffer = static_cast<std::uint16_t>(comm.needed("buffSizes") + 4 * kSimple),
               .p2p_chunk = comm.offset("p2pChunkSize"),
               .abort = comm.needed("abortFlag"),
               .channels = comm.needed("channels"),
               .work_consumed = comm.offset("workConsumed")};
  made.channel = {.bytes = channel.bytes(),
                  .ring = channel.needed("ring"),
                  .ring_ranks = channel.needed("ring.userRanks"),
                  .ring_index = channel.needed("ring.index"),
                  .tree = channel.needed("tree"),
                  .work_done = channel.offset("workFifoDone")};
  constexpr std::uint16_t kCounter = 8;  // without ncclDevProfiler a plain counter
  const bool entries = types.has("ncclDevProfiler"), counted = channel.has("workCounter");
  made.profiler = {.started = comm.offset("workStarted"),
                   .completed = comm.offset("workCompleted"),
                   .bytes = entries   ? static_cast<std::uint16_t>(types.bytes("ncclDevProfiler"))
                            : counted ? kCounter
                                      : std::uint16_t{0},
                   .counter = channel.offset("workCounter"),
                   .flag = work.mask({"profilerEnabled"})};
  made.coll = {.bytes = work.bytes(),
               .refused_flags = work.mask({"redOpArgIsPtr", "regUsed", "netRegUsed"}),
               .root = work.needed("root"),
               .send = work.needed("sendbuff"),
               .recv = work.needed("recvbuff"),
               .count = work.needed(coll ? "cbd" : "count"),
               .op_arg = work.needed("redOpArg")};
  made.style = batches                 ? WorkStyle::kBatches
               : work.has("workCount") ? WorkStyle::kParts
                                       : WorkStyle::kRounds;
  made.p2p_parts_reversed = parts_are_reversed(nccl_version);
  made.pat_sums_strided = pat_sums_are_strided(nccl_version);
  constexpr int kWorkHeaderBits = 16;
  const auto function = types.find("ncclDevWorkBatch", "funcId");
  made.func_bits = function ? static_cast<int>(function->bits) : kWorkHeaderBits;
  for (const Reader* each : {&conn, &comm, &channel, &work})
    if (!each->missing().empty())
      return {std::nullopt, fmt::format("its debug information has no {}", each->missing())};
  return {made, {}};
}

}  // namespace softcuda
