// What the black box keeps of communicators.
#include "state/communicators.h"

#include <signal.h>

#include <string>

#include "context/raw_clock.h"
#include "fixture.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
namespace state = nnd::state;
namespace box = nccl_net_diag::box;

namespace {

constexpr state::CallKind kAllReduce{"AllReduce", "ncclFloat32", "RING", "SIMPLE"};

// Of four operations three are over.
void give(state::Communicator& communicator, std::uint64_t seq) {
  std::uint64_t ordinal = 0;
  state::Task* const task = communicator.collectives.make(ordinal);
  if (task == nullptr) return;
  task->what.store(communicator.count_of(kAllReduce, false));
  task->number.store(seq);
  task->numbered.store(true);
  task->bytes.store(1000 + seq);
  task->progress.store(state::Progress::kLaunched);
  for (int n = 0; n < 4; ++n) communicator.collectives.begin_op(ordinal, 0);
  for (int n = 0; n < 3; ++n)
    communicator.collectives.end_op(ordinal, nnd::context::raw_clock::now());
}

void end(state::Communicator& communicator, std::uint64_t ordinal) {
  communicator.collectives.end_op(ordinal, nnd::context::raw_clock::now());
}

}  // namespace

TEST_CASE("communicators: the black box has what each was given last") {
  const TempDir dir;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    state::Communicator* const world = state::open_communicator();
    state::Communicator* const gone = state::open_communicator();
    state::open_communicator();
    state::Membership who{0xc0ffee, 3, 8, 2, {}};
    who.name = "world";
    world->membership.set(who);
    for (std::uint64_t seq = 0; seq < 100; ++seq) give(*world, seq);
    for (std::uint64_t ordinal = 1; ordinal <= 100; ++ordinal)
      if (ordinal != 6 && ordinal < 50) end(*world, ordinal);
    const auto seen = [&] { return read_box(read_file(dir / "log.nndbox")).comms.size(); };
    if (!eventually([&] { return seen() == 3; })) return 1;
    state::release_communicator(*gone);
    if (!eventually([&] { return seen() == 2; })) return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  std::string file = read_file(dir / "log.nndbox");
  const BoxContents contents = read_box(file);
  REQUIRE(contents.problem.empty());
  CHECK(contents.damaged_comms == 0);
  REQUIRE(contents.comms.size() == 2);
  const box::CommSlot& world = contents.comms[0];
  CHECK(world.hash == 0xc0ffee);
  CHECK(world.rank == 3);
  CHECK(world.nranks == 8);
  CHECK(world.name == std::string("world"));
  CHECK(world.collectives == 100);
  CHECK(world.transfers == 0);
  constexpr std::uint64_t kNewest = box::kLastCollectives - 1;
  for (std::uint64_t back = 0; back < kNewest; ++back) {
    const box::CommTask& task = world.last_collectives[back];
    CHECK(task.func == std::string("AllReduce"));
    CHECK(task.ordinal == 100 - back);
    CHECK(task.seq == 99 - back);
    CHECK(task.bytes == 1099 - back);
    CHECK(task.ops == 4);
    CHECK(task.ops_done == 3);
    CHECK(box::kTaskStateNames[task.state] == std::string("launched"));
  }
  // The program ran ahead of this one.
  CHECK(world.last_collectives[kNewest].ordinal == 6);
  CHECK(world.last_collectives[kNewest].seq == 5);
  CHECK(world.last_collectives[kNewest].ops_done == 3);
  CHECK(world.last_transfers[0].func[0] == '\0');
  CHECK(contents.comms[1].hash == 0);
  CHECK(contents.comms[1].rank == -1);

  // A damaged one is left out, and counted.
  const std::uint64_t at =
      contents.header.conns_offset - contents.header.comm_count * sizeof(box::CommSlot);
  file[at + offsetof(box::CommSlot, hash)] ^= 1;
  const BoxContents damaged = read_box(file);
  CHECK(damaged.comms.size() == 1);
  CHECK(damaged.damaged_comms == 1);
}

TEST_CASE("communicators: the box names nothing as open where it is not known which one is") {
  const TempDir dir;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    state::Communicator* const world = state::open_communicator();
    constexpr std::uint64_t kKept = state::LastTasks::kKept;
    for (std::uint64_t seq = 0; seq < kKept; ++seq) give(*world, seq);
    std::uint64_t ordinal = 0;
    world->collectives.make(ordinal);  // has no place
    world->collectives.begin_op(ordinal, 0);
    for (ordinal = 1; ordinal <= kKept; ++ordinal) end(*world, ordinal);
    give(*world, kKept + 1);
    const auto seen = [&] {
      const auto comms = read_box(read_file(dir / "log.nndbox")).comms;
      return comms.size() == 1 && comms[0].collectives == kKept + 2;
    };
    if (!eventually(seen)) return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  const BoxContents contents = read_box(read_file(dir / "log.nndbox"));
  REQUIRE(contents.comms.size() == 1);
  const auto& last = contents.comms[0].last_collectives;
  CHECK(last[0].ordinal == state::LastTasks::kKept + 2);
  for (const box::CommTask& task : last) CHECK(task.ops == task.ops_done);
}

TEST_CASE("communicators: each has its place in the black box, however many there are") {
  const TempDir dir;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    for (std::size_t i = 0; i < state::kCommunicators; ++i)
      if (state::open_communicator() == nullptr) return 1;
    const auto seen = [&] { return read_box(read_file(dir / "log.nndbox")).comms.size(); };
    return eventually([&] { return seen() == state::kCommunicators; }) ? 0 : 2;
  });
  CHECK(ended_with(status, 0));
}
