#include "job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "job_environment.h"
#include "rank.h"
#include "stacks.h"

namespace softcuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTickMs = 50;
constexpr double kFarewellSec = 3;                           // between SIGTERM and SIGKILL
constexpr const char* kSpecVariable = "SOFTCUDA_RANK_SPEC";  // number of a file descriptor
constexpr const char* kLinkVariable = "SOFTCUDA_RANK_LINK";  // likewise: the socket to the parent

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

std::string to_hex(const NcclUniqueId& id) {
  std::string text;
  for (const char byte : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

NcclUniqueId from_hex(std::string_view text) {
  NcclUniqueId id{};
  for (std::size_t i = 0; i < id.bytes.size() && 2 * i + 1 < text.size(); ++i)
    id.bytes[i] = static_cast<char>(std::stoi(std::string(text.substr(2 * i, 2)), nullptr, 16));
  return id;
}

// A line from the parent, without its end.
std::string read_line(int fd) {
  std::string line;
  for (char byte = 0; read(fd, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

// A proxy thread of NCCL's that can't go on may repeat one warning for ever: of more than this the
// middle goes.
void append(std::string& output, std::string_view more) {
  constexpr std::size_t kHead = 1 << 20, kTail = 1 << 18;
  output += more;
  if (output.size() > kHead + 2 * kTail)
    output.replace(kHead, output.size() - kHead - kTail, "\n...\n");
}

struct Process {
  pid_t pid = -1;
  Fd link, output;
  std::string pending;  // of the link, not yet a line
  bool ended = false;
  bool waits = false;  // for the others, to meet
};

class Job {
 public:
  // part: null where the whole job runs here.
  Job(const JobSpec& spec, const JobPart* part, const JobProgress& progress, const JobStop& stop)
      : spec_(spec), part_(part), progress_(progress), stop_(stop) {}

  JobResult run() {
    const auto start = Clock::now();
    const auto deadline = start + seconds(spec_.deadline_sec);
    const int first = part_ == nullptr ? 0 : part_->first_rank;
    const int count = part_ == nullptr ? spec_.ranks() : part_->ranks;
    for (int rank = first; rank < first + count && result_.error.empty(); ++rank) start_rank(rank);
    while (result_.error.empty() && !all_ended() && Clock::now() < deadline && !to_stop()) {
      listen();
      take_id();
    }
    end_all(Clock::now() >= deadline);
    for (const std::string& segment : result_.segments) unlink(segment.c_str());
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(result_);
  }

 private:
  void start_rank(int rank) {
    RankResult& result = result_.ranks.emplace_back();
    result.rank = rank;
    Process& process = processes_.emplace_back();
    RankSpec own{spec_, rank};
    if (part_ != nullptr) own.gpu = part_->first_gpu + rank - part_->first_rank;
    // Not as JSON: paths may have bytes that are no UTF-8.
    const std::vector<std::uint8_t> text = nlohmann::json::to_cbor(own);
    Fd spec(memfd_create("rank", 0));
    std::array<int, 2> link{-1, -1}, output{-1, -1};
    if (spec.get() < 0 ||
        write(spec.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link.data()) != 0 ||
        pipe2(output.data(), O_CLOEXEC) != 0) {
      result_.error = fmt::format("a rank's files: {}", std::strerror(errno));
      process.ended = true;
      return;
    }
    process.link = Fd(link[0]);
    process.output = Fd(output[0]);
    const Fd child_link(link[1]), child_output(output[1]);
    lseek(spec.get(), 0, SEEK_SET);
    process.pid = spawn(rank, spec.get(), child_link.get(), child_output.get());
    process.ended = process.pid < 0;
    tell({{"event", "started"}, {"rank", rank}, {"pid", process.pid}});
  }

  void tell(const nlohmann::json& event) const {
    if (progress_) progress_(event);
  }

  pid_t spawn(int rank, int spec, int link, int output) {
    const std::vector<std::string> environment = child_environment(rank, spec, link);
    std::vector<char*> pointers;
    for (const std::string& variable : environment)
      pointers.push_back(const_cast<char*>(variable.c_str()));
    pointers.push_back(nullptr);
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0) result_.error = fmt::format("fork: {}", std::strerror(errno));
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    std::signal(SIGINT, SIG_IGN);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    fcntl(link, F_SETFD, 0);
    static std::array<char, 16> name{"softcuda-rank"};
    std::array<char*, 2> arguments{name.data(), nullptr};
    execve("/proc/self/exe", arguments.data(), pointers.data());
    _exit(127);
  }

  std::vector<std::string> child_environment(int rank, int spec, int link) const {
    Variables all = own_variables(spec_);
    const auto set = [&all](const Variables& variables) {
      for (const auto& [name, value] : variables) all[name] = value;
    };
    const int node = rank / spec_.gpus_per_node;
    if (part_ == nullptr) all["NCCL_HOSTID"] = host_id(node);
    let_give_way(all, part_ == nullptr ? spec_.ranks() : part_->ranks);
    set(spec_.environment);
    if (const auto own = spec_.node_environment.find(node); own != spec_.node_environment.end())
      set(own->second);
    if (const auto own = spec_.rank_environment.find(rank); own != spec_.rank_environment.end())
      set(own->second);
    add_library_path(all, spec_.library_path);
    all[kSpecVariable] = std::to_string(spec);
    all[kLinkVariable] = std::to_string(link);
    return lines_of(all);
  }

  bool all_ended() const {
    return std::all_of(processes_.begin(), processes_.end(),
                       [](const Process& p) { return p.ended; });
  }

  void listen() {
    std::vector<pollfd> polled;
    for (const Process& process : processes_)
      for (const int fd : {process.link.get(), process.output.get()})
        polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    poll(polled.data(), polled.size(), kTickMs);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (polled[2 * i].revents != 0) read_link(i);
      if (polled[2 * i + 1].revents != 0) read_output(i);
      reap(i, WNOHANG);
    }
  }

  void read_link(std::size_t i) {
    Process& process = processes_[i];
    std::array<char, 4096> buffer;
    const ssize_t bytes = read(process.link.get(), buffer.data(), buffer.size());
    if (bytes <= 0) {
      process.link.reset();
      return;
    }
    process.pending.append(buffer.data(), static_cast<std::size_t>(bytes));
    for (auto end = process.pending.find('\n'); end != std::string::npos;
         end = process.pending.find('\n')) {
      handle(i, nlohmann::json::parse(process.pending.substr(0, end)));
      process.pending.erase(0, end + 1);
    }
  }

  void handle(std::size_t i, nlohmann::json event) {
    const std::string name = event.at("event");
    if (name == "id") {  // rank 0's, for all others
      const std::string id = event.at("id");
      spread_id(id, i);
      if (part_ != nullptr) part_->hand_out_id(id);
      return;
    }
    if (name == "meet") {
      processes_[i].waits = true;
      let_meet();
      return;
    }
    if (name == "segment") {
      result_.segments.push_back(event.at("path"));
      return;
    }
    RankResult& result = result_.ranks[i];
    if (name == "stacks") {
      result.stacks = event.at("text");
      return;
    }
    if (name == "done") result.done = true;
    if (name == "error") result.error = event.at("text");
    tell(event);
    result.events.push_back(std::move(event));
  }

  void spread_id(const std::string& id, std::optional<std::size_t> its_own) const {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (i != its_own && processes_[i].link.get() >= 0)
        write_all(processes_[i].link.get(), id + "\n");
  }

  void let_meet() {
    if (!std::all_of(processes_.begin(), processes_.end(),
                     [](const Process& p) { return p.ended || p.waits; }))
      return;
    for (Process& process : processes_)
      if (std::exchange(process.waits, false)) write_all(process.link.get(), "met\n");
  }

  // From where rank 0 is.
  void take_id() {
    if (part_ == nullptr || part_->first_rank == 0 || id_taken_) return;
    const auto id = part_->get_id();
    if (id) spread_id(*id, std::nullopt);
    id_taken_ = id.has_value();
  }

  void read_output(std::size_t i) {
    std::array<char, 4096> buffer{};
    const ssize_t bytes = read(processes_[i].output.get(), buffer.data(), buffer.size());
    if (bytes <= 0)
      processes_[i].output.reset();
    else
      append(result_.ranks[i].output, {buffer.data(), static_cast<std::size_t>(bytes)});
  }

  void reap(std::size_t i, int flags) {
    Process& process = processes_[i];
    int status = 0;
    if (process.ended || waitpid(process.pid, &status, flags) != process.pid) return;
    process.ended = true;
    while (process.link.get() >= 0) read_link(i);
    while (process.output.get() >= 0) read_output(i);
    RankResult& result = result_.ranks[i];
    if (WIFSIGNALED(status) && !result.late && !result.stopped) result.signal = WTERMSIG(status);
    // A sanitizer's verdict, for instance, comes last of all.
    if (result.done && WIFEXITED(status) && WEXITSTATUS(status) != 0)
      result.error = fmt::format("exit status {}", WEXITSTATUS(status));
    if (!result.done && spec_.grace_sec && !grace_end_)
      grace_end_ = Clock::now() + seconds(*spec_.grace_sec);
    tell({{"event", "ended"}, {"rank", result.rank}});
    let_meet();
  }

  // Ranks may say something all the time; whoever wants the job to end is asked once a tick.
  bool to_stop() {
    const auto now = Clock::now();
    if (grace_end_ && now >= *grace_end_) return true;
    if (!stop_ || now < next_question_) return false;
    next_question_ = now + std::chrono::milliseconds(kTickMs);
    return stop_();
  }

  void signal_all(int number) const {
    for (const Process& process : processes_)
      if (!process.ended && process.pid > 0) kill(process.pid, number);
  }

  // Lets those that hang say where they stand.
  void ask_for_stacks() {
    constexpr double kPatienceSec = 20;
    signal_all(SIGQUIT);
    const auto until = Clock::now() + seconds(kPatienceSec);
    const auto answered = [](const RankResult& rank) {
      return (!rank.late && !rank.stopped) || !rank.stacks.empty();
    };
    while (!all_ended() && Clock::now() < until &&
           !std::all_of(result_.ranks.begin(), result_.ranks.end(), answered))
      listen();
  }

  void end_all(bool late) {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (!processes_[i].ended) (late ? result_.ranks[i].late : result_.ranks[i].stopped) = true;
    if (late || grace_end_) ask_for_stacks();
    signal_all(SIGTERM);
    const auto farewell = Clock::now() + seconds(kFarewellSec);
    while (!all_ended() && Clock::now() < farewell) listen();
    signal_all(SIGKILL);
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (processes_[i].pid > 0) reap(i, 0);
  }

  const JobSpec& spec_;
  const JobPart* const part_;
  const JobProgress& progress_;
  const JobStop& stop_;
  std::optional<Clock::time_point> grace_end_;
  Clock::time_point next_question_;
  bool id_taken_ = false;
  std::vector<Process> processes_;
  JobResult result_;
};

std::optional<int> descriptor(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const int fd = std::atoi(text);
  unsetenv(variable);  // not for the rank's own children
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

}  // namespace

bool JobResult::ok() const {
  return error.empty() && !ranks.empty() &&
         std::all_of(ranks.begin(), ranks.end(), [](const RankResult& rank) {
           return rank.done && rank.error.empty() && !rank.signal && !rank.late && !rank.stopped;
         });
}

std::optional<int> run_as_rank() {
  const auto spec_fd = descriptor(kSpecVariable);
  const auto link = descriptor(kLinkVariable);
  if (!spec_fd || !link) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t bytes = 0; (bytes = read(*spec_fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  close(*spec_fd);
  const RankSpec spec = nlohmann::json::from_cbor(text).get<RankSpec>();
  static std::mutex writing;  // the stacks come from another thread, also while the process exits
  const auto write_event = [fd = *link](const nlohmann::json& event) {
    const std::lock_guard lock(writing);
    write_all(fd, event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  };
  tell_stacks_on_sigquit([write_event](const std::string& stacks) {
    write_event({{"event", "stacks"}, {"text", stacks}});
  });
  const RankLinks links{write_event,
                        [&](std::optional<NcclUniqueId> own) {
                          if (!own) return from_hex(read_line(*link));
                          write_event({{"event", "id"}, {"id", to_hex(*own)}});
                          return *own;
                        },
                        [&] {
                          write_event({{"event", "meet"}});
                          read_line(*link);
                        }};
  return run_rank(spec, links);
}

JobResult run_job(const JobSpec& spec, const JobProgress& progress, const JobStop& stop) {
  return Job(spec, nullptr, progress, stop).run();
}

JobResult run_job_part(const JobSpec& spec, const JobPart& part, const JobProgress& progress,
                       const JobStop& stop) {
  return Job(spec, &part, progress, stop).run();
}

nlohmann::json to_json(const JobResult& result) {
  nlohmann::json json{
      {"ok", result.ok()}, {"seconds", result.seconds}, {"ranks", nlohmann::json::array()}};
  if (!result.error.empty()) json["error"] = result.error;
  for (const RankResult& rank : result.ranks) {
    nlohmann::json one{{"rank", rank.rank}, {"done", rank.done}, {"events", rank.events}};
    if (!rank.error.empty()) one["error"] = rank.error;
    if (rank.signal) one["signal"] = *rank.signal;
    if (rank.late) one["late"] = true;
    if (rank.stopped) one["stopped"] = true;
    json["ranks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace softcuda
