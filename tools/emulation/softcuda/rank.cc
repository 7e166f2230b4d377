#include "rank.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "collective_run.h"
#include "gpu.h"
#include "refusal.h"
#include "stream.h"
#include "take_over.h"

namespace softcuda {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t asked_to_leave = 0;
struct Leaving {};

// Who is inside NCCL and doesn't see the request in time is ended by SIGALRM.
void leave(int /*signal*/) {
  constexpr unsigned kPatienceSec = 4;
  asked_to_leave = 1;
  alarm(kPatienceSec);
}

void leave_on_request() {
  std::signal(SIGTERM, leave);
  if (std::signal(SIGINT, leave) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

// With its communicators as they are, until it is asked to leave.
void linger(double seconds) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (asked_to_leave == 0 && Clock::now() < until) std::this_thread::sleep_for(kPause);
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// All GPUs of the node are visible to each of its ranks, as on a real node.
void set_node_gpus(const JobSpec& job) {
  std::vector<PciAddress> gpus = job.gpus;
  for (int i = 0; gpus.empty() || static_cast<int>(gpus.size()) < job.gpus_per_node; ++i)
    gpus.push_back({.bus = 0x10 + static_cast<unsigned>(i)});
  set_gpus(std::move(gpus), job.nvswitch);
}

class Rank {
 public:
  Rank(const RankSpec& spec, const RankLinks& links) : spec_(spec), links_(links) {}

  void load() {
    set_node_gpus(spec_.job);
    set_current_gpu(spec_.gpu.value_or(spec_.rank % spec_.job.gpus_per_node));
    load_library(spec_.job.nccl, spec_.job.nccl_symbols, nccl_);
    if (!spec_.job.other_nccl.empty()) load_library(spec_.job.other_nccl, {}, other_nccl_);
    int version = 0;
    nccl_.get_version(&version);
    report({{"event", "loaded"}, {"nccl", version}});
  }

  void run() {
    for (const Action& action : spec_.job.actions)
      if (!action.only_rank || *action.only_rank == spec_.rank) perform(action);
    report({{"event", "done"}});
  }

  void report(nlohmann::json event) const {
    event["rank"] = spec_.rank;
    links_.report(event);
  }

 private:
  struct Communicator {
    const NcclApi* nccl;
    NcclComm comm;
  };
  struct Grouped {
    Grouped(const Action& what, const NcclApi& nccl, NcclComm comm)
        : action(what), run(nccl, comm, what) {}
    const Action& action;
    CollectiveRun run;
  };

  void load_library(const std::string& path, const std::string& symbols, NcclApi& nccl) const {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    const int node = spec_.rank / spec_.job.gpus_per_node;
    const auto sysfs = spec_.job.sysfs.find(node);
    const auto tell = [report = links_.report, rank = spec_.rank](const std::string& segment) {
      report({{"event", "segment"}, {"rank", rank}, {"path", segment}});
    };
    const HostView view{symbols, sysfs == spec_.job.sysfs.end() ? "" : sysfs->second, tell};
    if (const std::string error = take_over(handle, view); !error.empty())
      throw std::runtime_error(error);
    if (const std::string missing = nccl.load(handle); !missing.empty())
      throw std::runtime_error(fmt::format("{} has no {}", path, missing));
  }

  void perform(const Action& action) {
    const auto start = Clock::now();
    switch (action.kind) {
      case Action::Kind::kCreate:
        create(action);
        report({{"event", "created"}, {"comm", action.comm}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kSplit:
        split(action);
        report({{"event", "split"}, {"comm", action.made}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kShrink:
        shrink(action);
        report({{"event", "shrunk"}, {"comm", action.made}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kDeviceApi:
        device_api(action);
        report({{"event", "device_api"}, {"comm", action.comm}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kCollective:
        collective(action);
        break;
      case Action::Kind::kGroupStart:
        check(nccl_, nccl_.group_start(), "ncclGroupStart");
        ++open_groups_;
        break;
      case Action::Kind::kGroupEnd:
        check(nccl_, nccl_.group_end(), "ncclGroupEnd");
        if (--open_groups_ == 0) finish_group();
        break;
      case Action::Kind::kWait:
        wait_for(action.comm);
        break;
      case Action::Kind::kMeet:
        links_.meet();
        break;
      case Action::Kind::kFinalize:
        finalize(comms_.at(action.comm));
        report({{"event", "finalized"}, {"comm", action.comm}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kDestroy:
        // NCCL 2.18 doesn't wait for the others, and breaks off what they have yet to receive.
        links_.meet();
        end(action.comm, &NcclApi::comm_destroy, "ncclCommDestroy");
        report({{"event", "destroyed"}, {"comm", action.comm}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kAbort:
        end(action.comm, &NcclApi::comm_abort, "ncclCommAbort");
        report({{"event", "aborted"}, {"comm", action.comm}, {"ms", ms_since(start)}});
        break;
      case Action::Kind::kCompute:
        std::this_thread::sleep_for(std::chrono::milliseconds(action.ms));
        break;
      case Action::Kind::kDie:
        kill(getpid(), action.signal);
        break;
      case Action::Kind::kExit:
        std::exit(action.status);
    }
  }

  void create(const Action& action) {
    const NcclApi& nccl = action.other_nccl ? other_nccl_ : nccl_;
    NcclUniqueId id{};
    const bool known = std::getenv("NCCL_COMM_ID") != nullptr;  // the same for all, without us
    if (known || spec_.rank == 0) check(nccl, nccl.get_unique_id(&id), "ncclGetUniqueId");
    if (!known) id = links_.exchange_id(spec_.rank == 0 ? std::optional(id) : std::nullopt);
    NcclComm& comm = place_for(action.comm, nccl);
    check(nccl, nccl.comm_init_rank(&comm, spec_.job.ranks(), id, spec_.rank), "ncclCommInitRank");
  }

  void split(const Action& action) {
    const auto [nccl, comm] = comms_.at(action.comm);
    NcclComm& made = place_for(action.made, *nccl);
    check(*nccl, nccl->comm_split(comm, spec_.rank % action.parts, spec_.rank, &made, nullptr),
          "ncclCommSplit");
  }

  void shrink(const Action& action) {
    const Communicator in = comms_.at(action.comm);
    if (in.nccl->comm_shrink == nullptr)
      throw std::runtime_error("this NCCL has no ncclCommShrink");
    int ranks = 0;
    check(in, in.nccl->comm_count(in.comm, &ranks), "ncclCommCount");
    int last = ranks - 1;
    NcclComm& made = place_for(action.made, *in.nccl);
    check(in, in.nccl->comm_shrink(in.comm, &last, 1, &made, nullptr, 0), "ncclCommShrink");
  }

  void device_api(const Action& action) {
    const Communicator in = comms_.at(action.comm);
    if (in.nccl->dev_comm_create == nullptr)
      throw std::runtime_error("this NCCL has no ncclDevCommCreate");
    int version = 0;
    in.nccl->get_version(&version);
    // The release that the program claims to be made for: a newer NCCL says what it can't do any
    // more.
    const SizedDevCommRequirements sized{.version = version < 22907   ? 22902u
                                                    : version < 23003 ? 22907u
                                                                      : 23003u};
    const void* const asked =
        version < 22902 ? static_cast<const void*>(&sized.requirements) : &sized;
    alignas(16) std::array<std::byte, 4096> made{};  // some hundred bytes, more in newer releases
    check(in, in.nccl->dev_comm_create(in.comm, asked, made.data()), "ncclDevCommCreate");
    check(in, in.nccl->dev_comm_destroy(in.comm, made.data()), "ncclDevCommDestroy");
  }

  static void finalize(const Communicator& in) {
    check(in, in.nccl->comm_finalize(in.comm), "ncclCommFinalize");
  }

  void end(int name, int (*NcclApi::*how)(NcclComm), const char* call) {
    const auto [nccl, comm] = comms_.at(name);
    check(*nccl, (nccl->*how)(comm), call);
    comms_.erase(name);
  }

  // In a group NCCL writes it at the group's end.
  NcclComm& place_for(int name, const NcclApi& nccl) {
    Communicator& made = comms_[name] = {&nccl, nullptr};
    return made.comm;
  }

  void start(CollectiveRun& run, const Communicator& in) const {
    if (const auto failure = run.start(stream_)) fail(in, failure->call, failure->result);
  }

  static void check_data(CollectiveRun& run) {
    if (const auto wrong = run.check()) throw std::runtime_error(*wrong);
  }

  void call_in_group(const Action& action) {
    const Communicator in = comms_.at(action.comm);
    CollectiveRun& run = in_group_.emplace_back(action, *in.nccl, in.comm).run;
    run.fill(0);
    start(run, in);
  }

  void finish_group() {
    for (const Grouped& one : in_group_) wait_for(one.action.comm);
    for (Grouped& one : in_group_) {
      one.run.finished();
      check_data(one.run);
      report_collective(one.action, 1, one.run);
    }
    in_group_.clear();
  }

  void collective(const Action& action) {
    if (open_groups_ > 0) {
      call_in_group(action);
      return;
    }
    const Communicator in = comms_.at(action.comm);
    CollectiveRun run(*in.nccl, in.comm, action);
    const int starts = action.in_a_row ? action.iterations : 1;
    for (int iteration = 0; iteration < action.iterations; iteration += starts) {
      const bool checked = iteration == 0 || iteration == action.iterations - 1;
      if (checked) run.fill(iteration);
      for (int i = 0; i < starts; ++i) start(run, in);
      if (!action.wait) return;
      wait_for(action.comm);
      run.finished();
      if (checked) check_data(run);
    }
    report_collective(action, action.iterations, run);
  }

  void report_collective(const Action& action, int iterations, const CollectiveRun& run) const {
    report({{"event", "collective"},
            {"collective", name_of(action.collective)},
            {"operation", name_of(action.operation)},
            {"type", name_of(action.type)},
            {"bytes", action.bytes},
            {"iterations", iterations},
            {"in_place", action.in_place},
            {"comm", action.comm},
            {"ms", run.busy_ms()},
            {"cpu_ms", run.cpu_ms()}});
  }

  // Until the stream is idle or NCCL says that the communicator is broken.
  void wait_for(int name) {
    constexpr useconds_t kPause = 200, kLongPause = 1000;
    constexpr int kSoon = 64;
    const Communicator in = comms_.at(name);
    for (int looks = 0; query(stream_) == kNotReady; ++looks) {
      if (asked_to_leave != 0) throw Leaving();
      int error = kNcclSuccess;
      in.nccl->async_error(in.comm, &error);
      if (error != kNcclSuccess && error != kNcclInProgress)
        fail(in, "ncclCommGetAsyncError", error);
      usleep(looks < kSoon ? kPause : kLongPause);
    }
  }

  static void check(const NcclApi& nccl, int result, const char* call) {
    check({&nccl, nullptr}, result, call);
  }
  static void check(const Communicator& in, int result, const char* call) {
    if (result != kNcclSuccess && result != kNcclInProgress) fail(in, call, result);
  }

  [[noreturn]] static void fail(const Communicator& in, const char* call, int result) {
    std::string text = fmt::format("{}: {}", call, in.nccl->error_string(result));
    for (const std::string& more : {std::string(in.nccl->last_error(in.comm)), last_refusal()})
      if (!more.empty()) text += ": " + more;
    throw std::runtime_error(text);
  }

  const RankSpec& spec_;
  const RankLinks& links_;
  NcclApi nccl_{}, other_nccl_{};
  StreamHandle stream_ = create_stream();
  std::map<int, Communicator> comms_;
  int open_groups_ = 0;
  std::deque<Grouped> in_group_;  // called, and not known to be over
};

}  // namespace

int run_rank(const RankSpec& spec, const RankLinks& links) {
  if (spec.job.heeds_sigterm) leave_on_request();
  Rank rank(spec, links);
  try {
    rank.load();
    rank.run();
    return 0;
  } catch (const Leaving&) {
    rank.report({{"event", "stopped"}});
    return 1;
  } catch (const std::exception& error) {
    rank.report({{"event", "error"}, {"text", error.what()}, {"refused", !last_refusal().empty()}});
    linger(spec.job.linger_sec);
    return 1;
  }
}

}  // namespace softcuda
