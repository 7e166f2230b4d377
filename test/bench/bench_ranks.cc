// bench_ranks DIR RANKS CONNECTIONS: processes of a job that keep black boxes of so many
// connections over eight HCAs, for who looks at them. Prints a line when all do, and ends with its
// standard input.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "context/clock.h"
#include "record/box.h"
#include "record/mirror.h"
#include "state/connections.h"

namespace {

using namespace nnd;

constexpr unsigned kHcas = 8;

bool open_connections(unsigned many) {
  for (unsigned i = 0; i < many; ++i) {
    const auto kind = i % 2 == 0 ? state::ConnectionKind::kSend : state::ConnectionKind::kRecv;
    state::Connection* const one = state::open_connection(kind, 11, {}, nullptr);
    if (one == nullptr) return false;
    state::ConnectionEnds ends;
    ends.device = "mlx5_" + std::to_string(i / 2 % kHcas);
    ends.port = 1;
    one->ends.set(ends);
    state::hand_out(*one, one);
    one->count_post(1);
    one->count_done(1, 1 + (1u << (8 + i % 16)), 65536);
  }
  return true;
}

// Its log says who it is, as far as its launcher does.
void run_rank(const std::string& dir, unsigned rank, unsigned ranks, unsigned many, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string name = fmt::format("{}/rank{}", dir, rank);
  std::ofstream(name + ".jsonl") << fmt::format(
      R"({{"v":1,"seq":0,"ts":"2026-03-01T14:02:11.000000Z","t_ns":1,"ev":"plugin.load","sev":"info",)"
      R"("proc":"{:#x}","host":"node","pid":{},"launch":{{"launcher":"slurm","rank":{},)"
      R"("world_size":{},"job":"4711"}}}})"
      "\n",
      rank + 1, getpid(), rank, ranks);
  record::Box box;
  const int fd = open((name + ".nndbox").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || box.open(fd) != 0 || !open_connections(many)) return;
  box.describe(rank + 1, "node", name + ".jsonl");
  record::mirror_connections(box);
  for (bool first = true;; first = false) {
    box.header().alive_mono_ns = context::mono_ns();
    box.flush();
    if (first && write(ready, "x", 1) != 1) return;
    usleep(100'000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto ranks = static_cast<unsigned>(std::atoi(argv[2]));
  int ready[2];
  if (pipe(ready) != 0) return 1;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    close(ready[0]);
    run_rank(argv[1], rank, ranks, static_cast<unsigned>(std::atoi(argv[3])), ready[1]);
    _exit(1);
  }
  close(ready[1]);
  char byte = 0;
  for (unsigned i = 0; i < ranks; ++i)
    if (read(ready[0], &byte, 1) != 1) return 1;
  fmt::print("ready\n");
  std::fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}
