// nnd-on-host SCENARIO HOST FOLDER PROGRAM...: becomes the program, which finds that host's HCAs,
// its GPUs and its name. Programs on the scenario's other hosts reach it that have the same folder.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

#include "softcuda/fabric_job.h"
#include "softcuda/runtime_names.h"
#include "softverbs/belonging.h"

namespace {

constexpr int kWrongCall = 2, kNotStarted = 127;

void stay(const char* scenario, const char* host, const std::filesystem::path& folder) {
  const auto runtime = softcuda::link_runtime(
      softverbs::belonging(NND_SOFTCUDA_INSTALLED, NND_SOFTCUDA_BUILT), folder / "runtime");
  const auto variables =
      softcuda::variables_on_host(softverbs::load_scenario(scenario), host, folder, runtime);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "%s SCENARIO HOST FOLDER PROGRAM...\n", argv[0]);
    return kWrongCall;
  }
  try {
    stay(argv[1], argv[2], std::filesystem::absolute(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return kWrongCall;
  }
  execvp(argv[4], argv + 4);
  std::fprintf(stderr, "%s can't be started: %s\n", argv[4], std::strerror(errno));
  return kNotStarted;
}
