// The log's disk is full, its tmpfs too small, its black box truncated, the memory cgroup at its
// limit: the job goes on, what is in the log is whole, and NCCL's log says what is missing.
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "driver/rank_command.h"
#include "integration/harness.h"
#include "log/box.h"
#include "nccl_net_diag/events.h"
#include "record/box.h"
#include "support/event_log.h"
#include "support/memory_cgroup.h"
#include "support/own_mounts.h"
#include "support/sanitizers.h"
#include "support/skip.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

namespace fs = std::filesystem;

// A job whose logs are on a tmpfs, and a directory to which they are saved before that goes.
class JobOnTmpfs {
 public:
  JobOnTmpfs(const std::string& size, fs::path saved)
      : saved_(std::move(saved)), job_(two_hosts()) {
    if (!test::mount_tmpfs(job_.log_dir(), size)) throw std::runtime_error("no tmpfs");
    job_->setup(shim());
  }
  ~JobOnTmpfs() { ::umount2(job_.log_dir().c_str(), MNT_DETACH); }
  JobOnTmpfs(const JobOnTmpfs&) = delete;
  JobOnTmpfs& operator=(const JobOnTmpfs&) = delete;

  EmulatedJob& job() { return job_; }
  void work() { job_->carry(job_->ring(2)); }
  // Nothing more can be written there than each log's first lines.
  void fill() {
    std::error_code missing;
    for (const char* log : {"rank0.jsonl", "rank1.jsonl"})
      for (int i = 0; i < 2000 && fs::file_size(job_.log_dir() / log, missing) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ofstream ballast(ballast_file(), std::ios::binary);
    const std::string block(4096, 'b');
    while (ballast.write(block.data(), 4096).flush()) {
    }
  }
  void make_room() { fs::remove(ballast_file()); }
  // Waits until NCCL's logger of rank 0 was given a text.
  void await_told(const std::string& text) {
    for (int i = 0; i < 2000; ++i) {
      if (job_->rank(0).run({{"op", "logs"}})["lines"].dump().find(text) != std::string::npos)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("NCCL's log doesn't say: " + text);
  }
  // Ends the job; all that it left is in the other directory then, and in lines.json what NCCL's
  // logger of rank 0 was given.
  void end() {
    job_->finish();
    std::ofstream(saved_ / "lines.json") << job_->rank(0).run({{"op", "logs"}})["lines"];
    job_->exit();
    if (fs::exists(ballast_file())) make_room();
    fs::copy(job_.log_dir(), saved_);
  }

 private:
  fs::path ballast_file() const { return job_.log_dir() / "ballast"; }

  fs::path saved_;
  EmulatedJob job_;
};

std::vector<json> log_lines(const fs::path& dir, int rank) {
  return test::read_log(dir / ("rank" + std::to_string(rank) + ".jsonl"));
}

// How many of the lines that NCCL's logger was given have the text.
std::ptrdiff_t told(const fs::path& dir, const std::string& text) {
  const auto lines = json::parse(std::ifstream(dir / "lines.json"));
  return std::count_if(lines.begin(), lines.end(), [&](const json& line) {
    return line["text"].get<std::string>().find(text) != std::string::npos;
  });
}

log::BoxContents box(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return log::read_box(bytes);
}

}  // namespace

TEST_CASE("a tmpfs too small for the black box: the log is complete without one") {
  const ScratchDir saved;
  if (!test::in_own_mounts([&] {
        JobOnTmpfs on("600k", saved.path());
        on.work();
        on.end();
      }))
    return;
  check_logs(saved.path());
  check_lives(log_lines(saved.path(), 0), 4);
  CHECK(told(saved.path(), "no black box: can't allocate") == 1);
  CHECK(!fs::exists(saved.path() / "rank0.nndbox"));
}

TEST_CASE("a disk that is full for a while costs no event") {
  const ScratchDir saved;
  if (!test::in_own_mounts([&] {
        JobOnTmpfs on("32m", saved.path());
        on.fill();
        for (int i = 0; i < 5; ++i) on.work();
        on.await_told("can't write the event log");
        on.make_room();
        on.work();
        on.end();
      }))
    return;
  check_logs(saved.path());
  for (int rank = 0; rank < 2; ++rank) {
    check_lives(log_lines(saved.path(), rank), 24);
    CHECK(of_kind(log_lines(saved.path(), rank), "log.dropped").empty());
    CHECK(of_kind(log_lines(saved.path(), rank), "summary").size() == 1);
    CHECK(!fs::exists(saved / ("rank" + std::to_string(rank) + ".nndbox")));
  }
  CHECK(told(saved.path(), "can't write the event log") == 1);
}

TEST_CASE("a disk that stays full: whole lines, and the black box keeps the rest") {
  const ScratchDir saved;
  if (!test::in_own_mounts([&] {
        JobOnTmpfs on("32m", saved.path());
        on.fill();
        for (int i = 0; i < 3; ++i) on.work();
        on.await_told("can't write the event log");
        on.end();
      }))
    return;
  check_logs(saved.path());
  const auto lines = log_lines(saved.path(), 0);
  CHECK(of_kind(lines, "summary").empty());
  const auto rest = box(saved / "rank0.nndbox");
  CHECK(rest.problem == "");
  CHECK(rest.damaged_records + rest.damaged_rings + rest.dropped == 0);
  CHECK(rest.header.lines_written == lines.size());
  std::vector<json> events = lines;
  for (const auto& record : rest.records) {
    events.push_back(json::from_msgpack(record.payload));
    const auto event = static_cast<nccl_net_diag::EventId>(record.header.event);
    events.back()["ev"] = nccl_net_diag::event_name(event);
  }
  check_lives(events, 12);
}

TEST_CASE("a black box that is truncated in the middle of traffic") {
  EmulatedJob job(two_hosts());
  job->setup(shim());
  auto links = job->ring(2);
  job->open(links);
  const auto transfer = [](const char* op, int conn) {
    return json{{"op", op}, {"conn", conn}, {"sizes", {262144}}, {"repeat", 400}};
  };
  const int recv = job->rank(1).start(transfer("recv", links[0].recv_conn));
  const int send = job->rank(0).start(transfer("send", links[0].send_conn));
  for (int rank = 0; rank < 2; ++rank)
    fs::resize_file(job.log_dir() / ("rank" + std::to_string(rank) + ".nndbox"), 0);
  CHECK(job->rank(0).wait(send)["bytes"] == 400 * 262144);
  CHECK(job->rank(1).wait(recv)["bytes"] == 400 * 262144);
  job->close(links);
  for (int i = 0; i < 5; ++i) job->carry(job->ring(2));
  job->finish();
  job->exit();
  job.check_logs();
  for (int rank = 0; rank < 2; ++rank) {
    const auto events = job.log(rank);
    std::uint64_t lost = 0;
    for (const auto& event : of_kind(events, "log.dropped"))
      lost += event["dropped"].get<std::uint64_t>();
    CHECK(of_kind(events, "conn.close").size() + lost >= 24);
    // What was under way may be gone; what came later is all there.
    check_lives(select(events, [](const json& event) { return event.value("conn", 0) > 4; }), 20);
    CHECK(of_kind(events, "summary").size() == 1);
  }
}

TEST_CASE("a memory cgroup at its limit: no black box on a tmpfs, and nobody is killed") {
  // An emulator and a sanitizer take memory of their own.
  if (!driver::emulator().empty() || test::kSanitized) return;
  const test::MemoryCgroup group;
  if (!group.made()) {
    NND_SKIP("no memory cgroup can be made here");
  }
  const ScratchDir logs("/dev/shm");
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_FILE", logs / "%p.jsonl"}});
  group.add(job->rank(0).pid());
  job->all(shim().request());
  // Room for what the job still needs, not for a black box in memory.
  if (!group.limit(group.usage() + record::Box::kMemoryLeft)) {
    NND_SKIP("the limit of a memory cgroup can't be set here");
  }
  job->setup(shim());
  driver::Traffic traffic;
  traffic.sizes = {65536};
  traffic.repeat = 50;
  job->carry(job->ring(2), traffic);
  job->finish();
  const auto lines = job->rank(0).run({{"op", "logs"}})["lines"].dump();
  CHECK_THAT(lines, contains("no black box: can't allocate"));
  const std::string name = logs / std::to_string(job->rank(0).pid());
  CHECK(!fs::exists(name + ".nndbox"));
  CHECK(fs::exists(logs / (std::to_string(job->rank(1).pid()) + ".nndbox")));
  job->exit();
  check_logs(logs.path());
  check_lives(test::read_log(name + ".jsonl"), 4);
}
