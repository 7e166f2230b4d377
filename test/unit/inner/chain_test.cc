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

TEST_CASE("auto passes over libnccl-net.so of another version, and says so") {
  const TempDir dir;
  copy_fixture("plugin_v8", dir / "libnccl-net.so");
  const std::string told = probe(dir.path(), "auto" + kNccl);
  CHECK_THAT(told, StartsWith("symtab " FIXTURES "nccl.so\nnote: "));
  CHECK_THAT(told, Contains(dir / "libnccl-net.so" + " has no ncclNetPlugin_v11"));
  CHECK_THAT(told, Contains("(it has v8)"));
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
  CHECK_THAT(probe(dir.path(), "hollow" + kNccl), Contains("lacks required functions"));
}
