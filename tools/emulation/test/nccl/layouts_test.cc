// softcuda's table of layouts, for libraries without debug information, against that of this one.
#include <vector>

#include "job/jobs.h"
#include "softcuda/debug_layout.h"
#include "support/catch.h"

using namespace softcuda;

namespace {

std::vector<long> numbers(const Layout& l) {
  return {l.conn.bytes,
          l.conn.buffer,
          l.conn.tail,
          l.conn.head,
          l.conn.step_size,
          l.conn.sizes,
          l.conn.offsets,
          l.conn.step,
          l.slot.bytes,
          l.slot.mode,
          l.slot.offset,
          l.slot.offset_bytes,
          l.slot.size,
          l.slot.size_bytes,
          l.comm.simple_buffer,
          l.comm.p2p_chunk,
          l.comm.abort,
          l.comm.channels,
          l.comm.work_consumed,
          l.channel.bytes,
          l.channel.ring,
          l.channel.ring_ranks,
          l.channel.ring_index,
          l.channel.tree,
          l.channel.work_done,
          l.profiler.started,
          l.profiler.completed,
          l.profiler.bytes,
          l.profiler.counter,
          static_cast<long>(l.profiler.flag),
          l.coll.bytes,
          l.coll.refused_flags,
          l.coll.root,
          l.coll.send,
          l.coll.recv,
          l.coll.count,
          l.coll.op_arg,
          static_cast<long>(l.style),
          l.p2p_parts_reversed ? 1 : 0,
          l.pat_sums_strided ? 1 : 0,
          l.func_bits};
}

}  // namespace

TEST_CASE("the table has what the debug information says", "[layouts]") {
  const DebugLayout read = read_debug_layout(nnd::test::nccl_library(), nnd::test::nccl_version());
  CHECK(read.error == "");
  REQUIRE(read.layout);
  const Layout* known = find_layout(nnd::test::nccl_version());
  REQUIRE(known != nullptr);
  CHECK(numbers(*known) == numbers(*read.layout));
}

TEST_CASE("a library without debug information has no layout of its own", "[layouts]") {
  const DebugLayout read = read_debug_layout("/proc/self/exe.none", 99999);
  CHECK_FALSE(read.layout);
  CHECK(read.error == "");
}
