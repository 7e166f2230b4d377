// Jobs drawn from a seed, and what a user is told of each: see docs/verdict.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>

#include "driver/nccl_cache.h"
#include "softcuda/job.h"
#include "support/temp_dir.h"
#include "verdict/draw.h"
#include "verdict/judge.h"
#include "verdict/page.h"
#include "verdict/roots.h"

namespace {

using namespace nnd::verdict;
namespace fs = std::filesystem;

struct Options {
  unsigned long seed = 1, runs = 30;
  int jobs = 2;
  bool healthy = false, one = false, roots = false, one_log = false;
  std::string keep, page, nccl, fault, ending;
  double least_right = 0;  // per cent
};

std::vector<std::string> releases(const Options& options) {
  if (!options.nccl.empty()) return {options.nccl};
  return nnd::driver::cached_versions();
}

Line line_for(const Case& one, const Played& played, const Judgement& judged) {
  return {.seed = one.seed,
          .nccl = one.nccl,
          .shape = fmt::format("{} x {}", one.nodes, one.gpus),
          .fault = one.fault,
          .truth = one.truth.words,
          .ending = ending_of(one),
          .collected = name_of(one.collected) + (one.clock_ms.empty() ? "" : ", clocks off"),
          .judged = name_of(judged.judged),
          .why = judged.why,
          .said = played.line};
}

// Each log alone, of the ranks that were started.
void judge_logs(const Case& one, const Played& played, Line& line) {
  const bool met = one.fabric.faults.empty() || played.fault_met;
  std::map<int, RootLog> logs;
  std::map<std::string, int> procs;
  for (const auto& [rank, file] : played.logs) {
    std::ifstream in(file);
    const RootLog& log = logs[rank] = read_root_log(in);
    if (!log.proc.empty()) procs[log.proc] = rank;
    if (!log.no_peers.empty()) line.no_peers = log.no_peers;
  }
  if (!line.no_peers.empty()) return;
  const RootTruth truth{one, played.moments, played.pids, procs,
                        (one.truth.may_be_harmless && played.ran) || !met};
  for (const auto& [rank, log] : logs) {
    const RootJudgement judged = judge_log(truth, rank, log);
    line.logs.push_back({rank, name_of(judged.judged), judged.why, judged.said, judged.delay_sec});
  }
}

void judge_alone(const Case& one, const Played& played, Line& line) {
  for (const Played& lone : played.alone) {
    const Judgement judged = judge(one, lone);
    line.alone.push_back(
        {*lone.collection.ranks.begin(), name_of(judged.judged), judged.why, lone.line});
  }
}

bool is_right(const Line& line) { return line.judged == "right" || line.judged == "not known"; }

void keep(const Line& line, const fs::path& dir, const fs::path& into) {
  fs::remove_all(into);
  fs::create_directories(into);
  constexpr auto kAll = fs::copy_options::recursive;
  fs::copy(dir / "logs", into / "logs", kAll);
  if (!line.logs.empty()) fs::copy(dir / "all", into / "all", kAll);
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_regular_file()) fs::copy(entry.path(), into / entry.path().filename());
  std::ofstream(into / "truth.txt") << text_of(line) << "\n" << roots_of(line) << "\n";
}

double cpu_sec(int whose) {
  rusage used{};
  ::getrusage(whose, &used);
  const auto sec = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return sec(used.ru_utime) + sec(used.ru_stime);
}

// In a process of its own.
int play_one(const Options& options) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  Case one =
      draw(options.seed, {releases(options), options.healthy, options.fault, options.ending});
  if (options.roots) ask_peers(one);
  const nnd::test::TempDir dir;
  Line line;
  try {
    const Played played = play(one, dir.path(), options.one_log);
    line = line_for(one, played, judge(one, played));
    if (options.roots && played.trouble.empty()) judge_logs(one, played, line);
    judge_alone(one, played, line);
  } catch (const std::exception& error) {
    line = line_for(one, {}, {Class::kNoJob, error.what()});
  }
  const bool logs_right = std::all_of(line.logs.begin(), line.logs.end(), is_fine);
  if (!options.keep.empty() && !(is_right(line) && logs_right) && fs::exists(dir.path() / "logs"))
    keep(line, dir.path(),
         fs::path(options.keep) / fmt::format("{}-{}-{}", is_right(line) ? "roots" : line.judged,
                                              line.fault, line.seed));
  line.cpu_sec = cpu_sec(RUSAGE_SELF) + cpu_sec(RUSAGE_CHILDREN);
  std::cout << to_json(line).dump() << "\n";
  return 0;
}

class Child {
 public:
  Child(const Options& options, unsigned long seed) {
    std::array<int, 2> pipe{-1, -1};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    std::vector<std::string> words{"verdict", "--one", "--seed", std::to_string(seed)};
    for (const auto& [name, set] : {std::pair{"--healthy", options.healthy},
                                    {"--roots", options.roots},
                                    {"--one-log", options.one_log}})
      if (set) words.emplace_back(name);
    for (const auto& [name, value] : {std::pair{"--keep", options.keep},
                                      {"--nccl", options.nccl},
                                      {"--fault", options.fault},
                                      {"--ending", options.ending}})
      if (!value.empty()) words.insert(words.end(), {name, value});
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(pipe[1], STDOUT_FILENO);
      ::execv("/proc/self/exe", pointers.data());
      ::_exit(127);
    }
    ::close(pipe[1]);
    out_ = pipe[0];
  }
  pid_t pid() const { return pid_; }
  std::string output() const {
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t bytes = 0; (bytes = ::read(out_, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(bytes));
    ::close(out_);
    return text;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

std::vector<Line> play_all(const Options& options) {
  std::vector<Line> lines;
  std::map<pid_t, Child> running;
  unsigned long next = 0;
  while (next < options.runs || !running.empty()) {
    while (next < options.runs && static_cast<int>(running.size()) < options.jobs) {
      const Child child(options, options.seed + next++);
      running.emplace(child.pid(), child);
    }
    const pid_t ended = ::wait(nullptr);
    const auto child = running.find(ended);
    if (child == running.end()) continue;
    const auto json = nlohmann::json::parse(child->second.output(), nullptr, false);
    running.erase(child);
    lines.push_back(json.is_object() ? line_of(json) : Line{.judged = name_of(Class::kNoJob)});
    fmt::print("{}\n", text_of(lines.back()));
    if (const std::string roots = roots_of(lines.back()); !roots.empty()) fmt::print("{}\n", roots);
    std::fflush(stdout);
  }
  return lines;
}

constexpr int kSkipped = 77;

int judge_roots(const Options& options, const std::vector<Line>& lines) {
  const auto played = std::count_if(lines.begin(), lines.end(),
                                    [](const Line& line) { return !line.logs.empty(); });
  const auto deaf = std::find_if(lines.begin(), lines.end(),
                                 [](const Line& line) { return !line.no_peers.empty(); });
  if (deaf != lines.end()) {
    std::cout << "SKIPPED: " << deaf->no_peers << "\n";
    return kSkipped;
  }
  const auto logs = logs_of(lines);
  std::cout << "\n" << root_summary(logs);
  const RootScore score = root_score_of(logs);
  const bool told = options.healthy ? played > 0 : score.judged > 0;
  return told && !score.accused && score.right_percent() >= options.least_right ? 0 : 1;
}

int run(const Options& options) {
  if (releases(options).empty()) {
    std::cout << "SKIPPED: no NCCL is in " << nnd::driver::nccl_cache() << "\n";
    return kSkipped;
  }
  const auto lines = play_all(options);
  std::cout << summary(lines);
  if (!options.page.empty()) std::ofstream(options.page) << page(lines);
  if (options.one_log) std::cout << "\n" << alone_summary(lines);
  if (options.roots) return judge_roots(options, lines);
  const Score score = score_of(lines);
  return score.jobs > 0 && score.accused + score.acquitted == 0 &&
                 score.right_percent() >= options.least_right
             ? 0
             : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = softcuda::run_as_rank()) return *status;
  Options options;
  CLI::App app{
      "Real NCCL jobs with drawn faults, endings and collections, and the report's first line of "
      "each"};
  app.add_option("--seed", options.seed, "The first; the others follow it");
  app.add_option("--runs", options.runs);
  app.add_option("--jobs", options.jobs, "Side by side")->check(CLI::Range(1, 64));
  app.add_option("--nccl", options.nccl, "One release for all, in place of a drawn one");
  app.add_option("--fault", options.fault,
                 "One of docs/verdict.md for all, in place of a drawn one");
  app.add_option(
      "--ending", options.ending,
      "One of docs/verdict.md for all faults, or \"restarted\", in place of a drawn one");
  app.add_flag("--healthy", options.healthy, "Nothing is wrong with any");
  app.add_flag("--roots", options.roots,
               "The processes ask each other whom they wait for, and each log alone is judged");
  app.add_flag("--one-log", options.one_log, "Also the report on one log alone of each");
  app.add_option("--keep", options.keep,
                 "A directory for what those left that were not judged right");
  app.add_option("--page", options.page, "A file for docs/verdict.md");
  app.add_option("--least-right", options.least_right,
                 "Per cent, with --roots of the logs; fewer are exit code 1");
  app.add_flag("--one", options.one)->group("");
  CLI11_PARSE(app, argc, argv);
  return options.one ? play_one(options) : run(options);
}
