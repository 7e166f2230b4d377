// The driver itself, with a real libnccl and nothing in between.
#include <csignal>
#include <functional>

#include "driver/error.h"
#include "driver/job.h"
#include "driver/nccl_cache.h"
#include "driver/rank_command.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd;

namespace {

// On the loopback interface, with none of the caller's NCCL variables.
driver::RankOptions plain_rank(const test::TempDir& scratch) {
  driver::RankOptions out;
  out.command = driver::rank_command();
  out.unset = {"NCCL_*", "SOFTVERBS_*"};
  out.environment = {{"NCCL_SOCKET_IFNAME", "lo"}};
  out.output = scratch.path() / "output";
  return out;
}

std::string words_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const driver::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("NCCL's own socket transport moves verified data between ranks") {
  const test::TempDir scratch;
  driver::Job job({plain_rank(scratch), plain_rank(scratch), plain_rank(scratch)});
  const auto setup =
      job.setup({driver::cached_nccl("2.28.9").value().string(), "", "Socket", true});
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
  const test::TempDir scratch;
  driver::Job job({plain_rank(scratch)});
  const auto dance = words_of([&] { job.rank(0).run({{"op", "dance"}}); });
  CHECK(dance.find("rank 0") != std::string::npos);
  CHECK(dance.find("no such request: dance") != std::string::npos);
  const int id = job.rank(0).start({{"op", "devices"}});
  CHECK(words_of([&] { job.rank(0).wait(id); }).find("no transport is loaded") !=
        std::string::npos);
  job.rank(0).kill(SIGKILL);
  CHECK(job.rank(0).wait_exit() == SIGKILL);
  CHECK(words_of([&] {
          job.rank(0).run({{"op", "devices"}});
        }).find("the process is gone") != std::string::npos);
}
