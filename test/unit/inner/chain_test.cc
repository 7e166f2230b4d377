// NCCL_NET_DIAG_INNER, each case in a process of its own: what is loaded stays loaded.
#include <array>
#include <cstdio>

#include "fixture.h"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

// Runs inner_probe with dir as library path; its output.
std::string probe(const std::string& dir, const std::string& arguments) {
  const std::string command = "LD_LIBRARY_PATH=" + dir + " " + PROBE + " " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  pclose(pipe);
  return text;
}

const std::string kNccl = std::string(" 11 ") + FIXTURES + "nccl.so";

}  // namespace

TEST_CASE("auto without libnccl-net.so is IB") {
  const TempDir dir;
  CHECK(probe(dir.path(), "auto" + kNccl) == "symtab " FIXTURES "nccl.so\n");
}

TEST_CASE("auto takes libnccl-net.so with the version asked for") {
  const TempDir dir;
  copy_fixture("plugin_v11", dir / "libnccl-net.so");
  CHECK(probe(dir.path(), "auto" + kNccl) == "plugin " + dir / "libnccl-net.so" + "\n");
}

TEST_CASE("auto is IB for an NCCL that would not take libnccl-net.so") {
  const TempDir dir;
  copy_fixture("plugin_v8", dir / "libnccl-net.so");
  CHECK(probe(dir.path(), "auto" + kNccl) == "symtab " FIXTURES "nccl.so\n");
}

TEST_CASE("NCCL finds the versions of libnccl-net.so that it would find without us") {
  const TempDir dir;
  const auto offered = [&dir](const char* setting, int newest) {
    return probe(dir.path(), std::string(setting) + " offer " + std::to_string(newest));
  };
  CHECK(offered("auto", 11) == "v11 IB\n");
  copy_fixture("plugin_v11", dir / "libnccl-net.so");  // v11 and v8
  CHECK(offered("auto", 12) == "v11 Fixture, tuner\n");
  CHECK(offered("auto", 11) == "v11 Fixture, tuner\n");
  CHECK(offered("auto", 10) == "v8 Fixture, tuner\n");
  CHECK(offered("auto", 8) == "v8 Fixture, tuner\n");
  CHECK(offered("auto", 7) == "v7 IB\n");  // none that it takes: its own
  CHECK(offered("IB", 12) == "v12 IB\n");
  CHECK(offered("Socket", 12) == "v12 Socket\n");
}

TEST_CASE("a libnccl-net.so that is too old to be wrapped is left to the NCCLs that take it") {
  const TempDir dir;
  copy_fixture("plugin_v5", dir / "libnccl-net.so");
  const auto offered = [&dir](int newest) {
    return probe(dir.path(), "auto offer " + std::to_string(newest));
  };
  CHECK(offered(12) == "v12 IB\n");
  CHECK(offered(10) == "v10 IB\n");
  CHECK(offered(9) == "v5 theirs, tuner\n");
  CHECK(offered(7) == "v5 theirs, tuner\n");
}

TEST_CASE("NCCL_NET decides between libnccl-net.so and NCCL's own") {
  const TempDir dir;
  copy_fixture("plugin_v11", dir / "libnccl-net.so");
  const auto offered = [&dir](const char* net) {
    setenv("NCCL_NET", net, 1);
    const auto told = probe(dir.path(), "auto offer 11");
    unsetenv("NCCL_NET");
    return told;
  };
  CHECK(offered("fixture") == "v11 Fixture, tuner\n");
  // NCCL takes the tuner of a library that it opened and doesn't use.
  CHECK(offered("IB") == "v11 IB, tuner\n");
  CHECK(offered("Other") == "v11 IB, tuner\n");
}

TEST_CASE("IB and Socket don't load a plugin") {
  const TempDir dir;
  copy_fixture("plugin_v11", dir / "libnccl-net.so");
  CHECK(probe(dir.path(), "IB" + kNccl) == "symtab " FIXTURES "nccl.so\n");
  CHECK(probe(dir.path(), "socket" + kNccl) == "symtab " FIXTURES "nccl.so\n");
}

TEST_CASE("a plugin by NCCL's naming rules") {
  const TempDir dir;
  copy_fixture("plugin_v11", dir / "libnccl-net-fix.so");
  const std::string path = dir / "libnccl-net-fix.so";
  CHECK(probe(dir.path(), "fix" + kNccl) == "plugin " + path + "\n");
  CHECK(probe(dir.path(), "libnccl-net-fix.so" + kNccl) == "plugin " + path + "\n");
  CHECK(probe("", path + kNccl) == "plugin " + path + "\n");
  // No NCCL is needed to wrap a plugin.
  CHECK(probe(dir.path(), "fix 8") == "plugin " + path + "\n");
}

TEST_CASE("a plugin that can't be wrapped") {
  const TempDir dir;
  CHECK_THAT(probe(dir.path(), "nowhere" + kNccl),
             StartsWith("none the plugin \"nowhere\" can't be"));
  CHECK_THAT(probe(dir.path(), "nowhere" + kNccl), Contains("libnccl-net-nowhere.so"));
  copy_fixture("plugin_v8", dir / "libnccl-net-old.so");
  CHECK_THAT(probe(dir.path(), "old" + kNccl), Contains("has no ncclNetPlugin_v11"));
  copy_fixture("plugin_hollow", dir / "libnccl-net-hollow.so");
  CHECK_THAT(probe(dir.path(), "hollow" + kNccl), Contains("has no name or no init"));
}

TEST_CASE("a table that is filled in init is wrapped") {
  const TempDir dir;
  copy_fixture("plugin_early", dir / "libnccl-net.so");
  CHECK(probe(dir.path(), "auto" + kNccl) == "plugin " + dir / "libnccl-net.so" + "\n");
}
