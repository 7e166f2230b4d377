// Writes the logs of a job that never ran: write_job DIRECTORY RANKS FAULT SEED [MORE_CONNECTIONS]
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "synth/job.h"

int main(int argc, char** argv) {
  using nnd::synth::Fault;
  if (argc < 5) {
    std::fputs("write_job DIRECTORY RANKS FAULT SEED [MORE_CONNECTIONS]\n", stderr);
    return 2;
  }
  nnd::synth::Spec spec;
  spec.ranks = std::atoi(argv[2]);
  spec.seed = std::strtoull(argv[4], nullptr, 10);
  spec.more_connections = argc > 5 ? std::atoi(argv[5]) : 0;
  for (int i = 0; i < static_cast<int>(Fault::kCount); ++i)
    if (std::string_view(argv[3]) == nnd::synth::name_of(static_cast<Fault>(i)))
      spec.fault = static_cast<Fault>(i);
  std::filesystem::create_directories(argv[1]);
  const auto planted = nnd::synth::write_job(spec, argv[1]);
  std::printf("%s %s %d\n", planted.host.c_str(), planted.dev.c_str(), planted.rank.value_or(-1));
  return 0;
}
