// A process that SIGTERM ends writes no summary: what its log and its black box say together is the
// same. Each job is played twice, and ends by itself or by that.
#include <signal.h>

#include <chrono>
#include <set>
#include <thread>

#include "integration/harness.h"
#include "report/report.h"
#include "support/event_log.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr std::uint64_t kMessages = 16, kSize = 65536;

driver::Traffic messages(std::size_t count) {
  driver::Traffic out;
  out.sizes = {kSize};
  out.repeat = count;
  return out;
}

// What one process did, and what was wrong.
struct Account {
  std::uint64_t conns = 0, completed = 0, failed = 0, bytes = 0;
  std::set<std::string> causes, stalls;
  bool operator==(const Account&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Account& account) {
  return out << json{account.conns, account.completed, account.failed,
                     account.bytes, account.causes,    account.stalls};
}

Account by_summary(const json& summary) {
  Account out;
  for (const json& port : summary["per_port"])
    for (const char* way : {"send", "recv"}) {
      out.conns += port[way]["conns"].get<std::uint64_t>();
      out.completed += port[way]["completed"].get<std::uint64_t>();
      out.failed += port[way]["failed"].get<std::uint64_t>();
      out.bytes += port[way]["bytes"].get<std::uint64_t>();
    }
  for (const json& failure : summary["failures"]) out.causes.insert(failure["cause"]);
  for (const json& stall : summary["stalls"]) out.stalls.insert(stall["kind"]);
  return out;
}

Account by_box(const report::Input& input, const log::Process& process) {
  Account out;
  const auto box = input.boxes.find(process.proc);
  REQUIRE(box != input.boxes.end());
  for (const auto& slot : box->second.conns) {
    if (slot.conn == 0) continue;
    ++out.conns;
    out.completed += slot.completed;
    out.failed += slot.failed;
    out.bytes += slot.bytes;
  }
  for (const log::Diagnosis& told : process.diagnoses)
    if (told.failure) out.causes.insert(told.cause);
  for (const log::Stall& stall : process.stalls) out.stalls.insert(stall.kind);
  return out;
}

// A job, and the report of what it left.
struct Played {
  std::vector<Account> accounts;  // by rank
  report::Kind kind{};
  std::set<std::string> roots;
};

class Play {
 public:
  explicit Play(const std::string& faults)
      : job_(two_hosts(faults), 2,
             {{"NCCL_NET_DIAG_STALL_SEC", "0.2"}, {"NCCL_IB_GID_INDEX", "3"}}) {
    job_->setup(shim());
    links_ = {job_->ring(1).front()};
    job_->open(links_);
  }
  EmulatedJob& job() { return job_; }
  driver::Link& link() { return links_.front(); }

  Played end(bool by_itself) {
    if (!by_itself) await_boxes();
    if (by_itself) job_->all({{"op", "exit"}});
    for (int rank = 0; rank < 2; ++rank) {
      if (!by_itself) job_->rank(rank).kill(SIGTERM);
      job_->rank(rank).wait_exit();
    }
    const report::Input input = read();
    const report::Report all = report::analyse(input);
    Played out{{}, all.kind, {}};
    for (const report::Failure& root : all.first.roots) out.roots.insert(root.told->cause);
    for (int rank = 0; rank < 2; ++rank) {
      const auto summaries = test::only(job_.log(rank), "summary");
      REQUIRE(summaries.size() == (by_itself ? 1 : 0));
      out.accounts.push_back(by_itself ? by_summary(summaries[0]) : by_box(input, of(input, rank)));
    }
    return out;
  }

 private:
  report::Input read() const { return report::read_input(report::files_of({job_.log_dir()})); }
  const log::Process& of(const report::Input& input, int rank) {
    const std::string proc = job_.log(rank).at(0)["proc"];
    for (const log::Process* process : input.job.processes())
      if (process->proc == proc) return *process;
    throw std::runtime_error("rank " + std::to_string(rank) + " left nothing");
  }
  // The drain copies the connections ten times a second: once after all has happened.
  void await_boxes() {
    std::map<std::string, std::uint64_t> before;
    for (const auto& [proc, box] : read().boxes) before[proc] = box.alive_ns;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (int rank = 0; rank < 2; ++rank)
      for (;;) {
        const report::Input now = read();
        const std::string proc = of(now, rank).proc;
        if (now.boxes.at(proc).alive_ns > before[proc] + 1'000'000'000) break;
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("no sign of life");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
  }

  EmulatedJob job_;
  std::vector<driver::Link> links_;
};

}  // namespace

TEST_CASE("a healthy process that SIGTERM ends has the bytes and the waits of a summary") {
  const auto play = [](bool by_itself) {
    Play one("");
    EmulatedJob& job = one.job();
    const auto transfer = [&](int rank, const char* op, int conn) {
      json request = messages(kMessages).request();
      request.update({{"op", op}, {"conn", conn}, {"session", 0}, {"deadline_ms", 240'000}});
      return job->rank(rank).start(request);
    };
    const int receive = transfer(1, "recv", one.link().recv_conn);
    const auto await = [&](const char* event) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
      while (test::only(job.log(1), event).empty()) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    };
    await("conn.stall");
    const int send = transfer(0, "send", one.link().send_conn);
    CHECK(job->rank(0).wait(send)["rc"] == 0);
    CHECK(job->rank(1).wait(receive)["rc"] == 0);
    await("conn.resume");
    return one.end(by_itself);
  };
  const Played clean = play(true), ended = play(false);
  CHECK(clean.accounts[0].bytes == kMessages * kSize);
  CHECK(clean.accounts[1].stalls.contains("nothing-came"));
  for (const std::size_t rank : {0u, 1u}) {
    // Who waits for how long after the traffic is the job's end.
    Account a = clean.accounts[rank], b = ended.accounts[rank];
    a.stalls.erase("idle"), b.stalls.erase("idle");
    CHECK(a == b);
  }
  CHECK(clean.kind == report::Kind::kHealthy);
  CHECK(ended.kind == report::Kind::kEnded);
}

TEST_CASE("a process that SIGTERM ends after a failure has that as its cause, as a summary has") {
  const auto play = [](bool by_itself) {
    Play one("[[fault]]\nkind = \"fail-wr\"\nhost = \"node0\"\nstatus = \"LOC_PROT_ERR\"\n");
    constexpr int kShortMs = 3000;
    one.job()->try_move(one.link(), messages(kMessages), kShortMs);
    return one.end(by_itself);
  };
  const Played clean = play(true), ended = play(false);
  CHECK(clean.accounts[0].failed > 0);
  CHECK(clean.accounts[0].causes == std::set<std::string>{"WC-4"});
  CHECK(ended.accounts[0].causes == clean.accounts[0].causes);
  CHECK(ended.accounts[0].failed == clean.accounts[0].failed);
  CHECK(clean.roots == std::set<std::string>{"WC-4"});
  CHECK(ended.roots == clean.roots);
  CHECK(clean.kind == report::Kind::kFailed);
  CHECK(ended.kind == report::Kind::kFailed);
}
