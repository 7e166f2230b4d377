#include "record/memory_room.h"

#include <unistd.h>

#include <limits>
#include <string>

#include "fixture.h"
#include "record/box.h"
#include "support/catch.h"
#include "support/memory_cgroup.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("memory room: the tightest limit on the way up, file cache is free") {
  const TempDir dir;
  CHECK(cgroup_room(dir.path()) == std::numeric_limits<std::uint64_t>::max());
  write(dir / "proc/self/cgroup", "0::/job/step\n");
  const std::string top = dir / "sys/fs/cgroup/";
  write(top + "job/step/memory.max", "max\n");
  write(top + "job/step/memory.current", "700\n");
  CHECK(cgroup_room(dir.path()) == std::numeric_limits<std::uint64_t>::max());
  write(top + "job/memory.max", "1000\n");
  write(top + "job/memory.current", "900\n");
  CHECK(cgroup_room(dir.path()) == 100);
  write(top + "job/memory.stat", "anon 5\ninactive_file 300\nactive_file 7\n");
  CHECK(cgroup_room(dir.path()) == 400);
  write(top + "memory.max", "50\n");
  write(top + "memory.current", "60\n");
  CHECK(cgroup_room(dir.path()) == 0);
}

TEST_CASE("memory room: cgroups of the first generation, in a container that sees only its own") {
  const TempDir dir;
  write(dir / "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1234\n0::/\n");
  write(dir / "sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
  write(dir / "sys/fs/cgroup/memory/memory.usage_in_bytes", "4000\n");
  write(dir / "sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
  CHECK(cgroup_room(dir.path()) == 1500);
}

TEST_CASE("a memory cgroup at its limit: no black box on a tmpfs, and nobody is killed") {
  const nnd::test::MemoryCgroup group;
  if (kSanitized || !group.made() || !group.limit(Box::kMemoryLeft - 1024 * 1024)) {
    NND_SKIP("no memory cgroup can be made here, or a sanitizer needs more than its limit");
  }
  const TempDir dir("/dev/shm");
  const std::string log = dir / "log.jsonl";
  const int status = in_child([&] {
    group.add(::getpid());
    const CapturedAdvice told;
    start(log_to(log));
    emit_numbered(1, 1);
    stop();
    const auto& lines = CapturedAdvice::lines();
    if (lines.size() != 1 || lines[0].find("no black box") == std::string::npos) return 1;
    return read_log(log).size() == 2 ? 0 : 2;
  });
  CHECK(ended_with(status, 0));
}
