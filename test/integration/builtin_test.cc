// The driver itself, with a real libnccl and nothing in between: what the other tests stand on.
#include <csignal>

#include "integration/harness.h"

using namespace nnd;
using namespace nnd::integration;

TEST_CASE("NCCL's own socket transport moves verified data between ranks") {
  const ScratchDir scratch;
  driver::Job job({plain_rank(scratch), plain_rank(scratch), plain_rank(scratch)});
  const auto setup = job.setup({nccl(), "", "Socket", true});
  CHECK(setup[0]["load"]["name"] == "Socket");
  CHECK(setup[0]["init"]["null_slots"][0] == "regMrDmaBuf");
  CHECK(setup[0]["properties"][0]["name"] == "lo");

  auto links = job.ring(2);
  REQUIRE(links.size() == 6);
  job.open(links);
  driver::Traffic traffic;
  traffic.sizes = {0, 1, 4097, 1 << 20};
  traffic.repeat = 5;
  traffic.offset = 13;
  for (const auto bytes : job.move(links, traffic)) CHECK(bytes == 5 * (1 + 4097 + (1 << 20)));
  job.close(links);
  job.finish();
  job.exit();
}

TEST_CASE("a rank that is killed, and a request that makes no sense, are told with their names") {
  const ScratchDir scratch;
  driver::Job job({plain_rank(scratch)});
  CHECK_THROWS_WITH(job.rank(0).run({{"op", "dance"}}),
                    contains("rank 0") && contains("no such request: dance"));
  const int id = job.rank(0).start({{"op", "devices"}});
  CHECK_THROWS_WITH(job.rank(0).wait(id), contains("no transport is loaded"));
  job.rank(0).kill(SIGKILL);
  CHECK(job.rank(0).wait_exit() == SIGKILL);
  CHECK_THROWS_WITH(job.rank(0).run({{"op", "devices"}}), contains("the process is gone"));
}
