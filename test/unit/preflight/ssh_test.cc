#include "cli/preflight/ssh.h"

#include <stdlib.h>

#include <array>
#include <cstdio>

#include "cli/common/call_error.h"
#include "cli/preflight/host_list.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::cli;

namespace {

std::string run_by_sh(const nnd::test::TempDir& dir, const std::string& script) {
  FILE* const sh = popen(("/bin/sh <'" + dir.file("script", script) + "'").c_str(), "r");
  REQUIRE(sh != nullptr);
  std::string out;
  std::array<char, 4096> buffer;
  while (const auto size = fread(buffer.data(), 1, buffer.size(), sh))
    out.append(buffer.data(), size);
  pclose(sh);
  return out;
}

}  // namespace

TEST_CASE("a script for another host's sh quotes all that is in it", "[ssh]") {
  const nnd::test::TempDir dir;
  const std::string odd = "it's\\ $(echo a) `echo b`; c\n\"*\" ''";
  CHECK(run_by_sh(dir, script_of({{"ODD", odd}}, {"/bin/sh", "-c", "printf %s \"$ODD\""})) == odd);
  CHECK(run_by_sh(dir, script_of({}, {"printf", "%s", odd})) == odd);
  // A program's name, too: it is not found, and nothing else is run.
  CHECK(run_by_sh(dir, script_of({}, {"/no/such; echo pwned"})).find("pwned\n") ==
        std::string::npos);
}

TEST_CASE("other hosts get a job's settings, and neither secrets nor this host's own", "[ssh]") {
  setenv("NCCL_IB_TC", "106", 1);
  setenv("NCCL_NET_DIAG_TOKEN", "secret", 1);
  setenv("NCCL_HOSTID", "me", 1);
  setenv("NCCL_a;b", "1", 1);
  const auto variables = variables_for_others();
  CHECK(variables.at("NCCL_IB_TC") == "106");
  for (const char* name : {"NCCL_NET_DIAG_TOKEN", "NCCL_HOSTID", "NCCL_a;b", "PATH"})
    CHECK_FALSE(variables.contains(name));
  for (const char* name : {"NCCL_IB_TC", "NCCL_NET_DIAG_TOKEN", "NCCL_HOSTID", "NCCL_a;b"})
    unsetenv(name);
}

TEST_CASE("a list of hosts as ping, Open MPI and MPICH have it", "[ssh]") {
  const nnd::test::TempDir dir;
  const auto file = dir.file("hosts",
                             "# a remark\n"
                             "node1\n"
                             "  node2 slots=8 # eight\r\n"
                             "\n"
                             "node3:8\n"
                             "node1 slots=8\n"
                             "10.0.0.4\n"
                             "[fe80::1]:8\n"
                             "[fe80::2]");
  CHECK(read_host_list(file) ==
        std::vector<std::string>{"node1", "node2", "node3", "10.0.0.4", "fe80::1", "fe80::2"});
  CHECK_THROWS_AS(read_host_list(dir.file("bad", "node1\n-x\n")), CallError);
  CHECK_THROWS_AS(read_host_list(dir.file("empty", "# nobody\n")), CallError);
  CHECK_THROWS_AS(read_host_list(dir.path() / "none"), CallError);
}
