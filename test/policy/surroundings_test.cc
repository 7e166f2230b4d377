// Faults of what the job runs in: a container without its device nodes, settings with which NCCL's
// own transport can't start, a launcher that loses variables, a sysfs that NCCL crashes on.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "log/box.h"
#include "policy/judged.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

using Lines = std::vector<std::string>;

const std::string kRails = "[[host]]\n[[host.hca]]\ncount = 3\naddress = \"10.200.{i}.1/24\"\n";

std::string severity(const std::string& mode) { return mode == "observe" ? "info" : "warn"; }

// What each rank said, without the call that failed because of it.
Lines said(const Judged& judged, std::size_t index) {
  Lines out = judged.said(index);
  std::erase_if(out, [](const std::string& line) { return line.starts_with("comm.init"); });
  return out;
}

// Of the events that rank 0 could not write any more: those with this word in them.
std::size_t left_in_black_box(const EmulatedJob& job, const std::string& word) {
  std::ifstream file(job.log_dir() / "rank0.nndbox", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto box = log::read_box(bytes);
  return static_cast<std::size_t>(std::count_if(
      box.records.begin(), box.records.end(),
      [&](const auto& record) { return record.payload.find(word) != std::string::npos; }));
}

}  // namespace

TEST_CASE("no HCA can be opened: told once, and not once per HCA") {
  Judged judged(kRails + "open_errno = \"ENOENT\"\n", "", {});
  judged.end();
  for (std::size_t i = 0; i < judged.ranks().size(); ++i) {
    const std::string& mode = judged.ranks()[i].mode;
    INFO(mode);
    CHECK(said(judged, i) ==
          Lines{"policy.warn " + severity(mode) + " hca.unusable DEV-UNUSABLE ",
                "policy.warn " + severity(mode) + " fallback.socket DEV-FALLBACK "});
    for (const auto& event : of_kind(judged.log(i), "hca.port")) CHECK(event["sev"] == "info");
  }
}

TEST_CASE("NCCL's own transport is turned off or finds no interface: the leftover is named") {
  struct Row {
    std::string variable, value, cause;
    bool wanted;  // RDMA, as far as the user says
  };
  const auto row = GENERATE(Row{"NCCL_IB_DISABLE", "1", "DEV-FALLBACK", false},
                            Row{"NCCL_SOCKET_IFNAME", "=not-here", "DEV-OOB", true});
  INFO(row.variable << "=" << row.value);
  Judged judged(kRails + "[[host.gpu]]\n", "", {{row.variable, row.value}});
  judged.end();
  for (std::size_t i = 0; i < judged.ranks().size(); ++i) {
    const std::string& mode = judged.ranks()[i].mode;
    INFO(mode);
    Lines told;
    if (row.wanted)
      told.push_back("policy.warn " + severity(mode) + " fallback.socket DEV-FALLBACK ");
    told.push_back("env.lint " + severity(mode) + " " + row.cause + " " + row.variable);
    CHECK(said(judged, i) == told);
  }
}

TEST_CASE("a variable that the container's first process has and the job lacks") {
  // A process namespace of its own, whose first process is a shell; not every machine lets us.
  const std::vector<std::string> first_process = {"unshare",      "--user", "--map-root-user",
                                                  "--pid",        "--fork", "--kill-child",
                                                  "--mount-proc", "sh",     "-c"};
  if (std::system("unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null") !=
      0) {
    WARN("no process namespace can be made here");
    return;
  }
  const auto judge = [&](const std::string& script) {
    Surroundings inside{first_process, {}};
    inside.wrapper.insert(inside.wrapper.end(), {script + " \"$@\"; exit $?", "sh"});
    return std::make_unique<Judged>(kRails, "", Environment{{"NCCL_IB_TC", "0"}},
                                    std::vector<std::string>{"observe", "warn", "enforce"}, inside);
  };
  const auto lost = judge("env -u NCCL_IB_TC");
  lost->end();
  for (std::size_t i = 0; i < lost->ranks().size(); ++i)
    CHECK(said(*lost, i) ==
          Lines{"env.lint " + severity(lost->ranks()[i].mode) + " INC-ENV NCCL_IB_TC"});
  const auto kept = judge("env");
  kept->end();
  for (std::size_t i = 0; i < kept->ranks().size(); ++i) CHECK(said(*kept, i) == Lines{});
}

TEST_CASE("a device path that does not resolve: named before NCCL crashes, or kept from it",
          "[nopci]") {
  const std::string odd =
      kRails + "[[host.hca]]\nname = \"mlx5_3\"\naddress = \"10.200.3.1/24\"\nlook = \"rxe\"\n";
  const bool crashes = nccl_version() == "2.21.5" || nccl_version() == "2.23.4";
  Judged enforced(odd, "", {}, {"enforce"});
  CHECK(enforced.ranks()[0].init_rc == 0);
  CHECK(enforced.ranks()[0].devices.size() == (crashes ? 3 : 4));
  enforced.end();
  CHECK(said(enforced, 0) ==
        (crashes ? Lines{"policy.refuse error hca.unusable DEV-NOPCI mlx5_3"} : Lines{}));
  if (!crashes) return;
  // Nothing saves the process in the other modes; its black box has the reason.
  for (const std::string mode : {"observe", "warn"}) {
    EmulatedJob job(odd, 1, {{"NCCL_NET_DIAG_MODE", mode}});
    job->rank(0).run(shim().request());
    CHECK_THROWS(job->rank(0).run({{"op", "init"}}));
    CHECK(WTERMSIG(job->rank(0).wait_exit()) == SIGSEGV);
    // In both where it was killed between a line's writing and the ring's moving on.
    CHECK(left_in_black_box(job, "DEV-NOPCI") + of_kind(job.log(0), "policy.warn").size() >= 1);
  }
  // With every path in place nothing is said, and nothing is missing.
  Judged healthy(kRails, "");
  for (const JudgedRank& rank : healthy.ranks()) CHECK(rank.devices.size() == 3);
  healthy.end();
  for (std::size_t i = 0; i < healthy.ranks().size(); ++i) CHECK(said(healthy, i) == Lines{});
}
