// Jobs drawn from a seed, and what a user is told of each: see docs/verdict.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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

namespace {

using namespace nnd::verdict;
namespace fs = std::filesystem;

struct Options {
  unsigned long seed = 1, runs = 30;
  int jobs = 2;
  bool healthy = false, one = false;
  std::string keep, page, nccl, fault;
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
          .ending = name_of(one.ending) + (one.restarted ? ", restarted" : ""),
          .collected = name_of(one.collected) + (one.clock_ms.empty() ? "" : ", clocks off"),
          .judged = name_of(judged.judged),
          .why = judged.why,
          .said = played.line};
}

void keep(const Line& line, const fs::path& dir, const fs::path& into) {
  fs::remove_all(into);
  fs::create_directories(into);
  constexpr auto kAll = fs::copy_options::recursive;
  fs::copy(dir / "logs", into / "logs", kAll);
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_regular_file()) fs::copy(entry.path(), into / entry.path().filename());
  std::ofstream(into / "truth.txt") << text_of(line) << "\n";
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
  const Case one = draw(options.seed, releases(options), options.healthy, options.fault);
  const nnd::test::TempDir dir;
  Line line;
  try {
    const Played played = play(one, dir.path());
    line = line_for(one, played, judge(one, played));
  } catch (const std::exception& error) {
    line = line_for(one, {}, {Class::kNoJob, error.what()});
  }
  if (!options.keep.empty() && line.judged != "right" && line.judged != "not known" &&
      fs::exists(dir.path() / "logs"))
    keep(line, dir.path(),
         fs::path(options.keep) / fmt::format("{}-{}-{}", line.judged, line.fault, line.seed));
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
    if (options.healthy) words.emplace_back("--healthy");
    for (const auto& [name, value] :
         {std::pair{"--keep", options.keep}, {"--nccl", options.nccl}, {"--fault", options.fault}})
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
    std::fflush(stdout);
  }
  return lines;
}

int run(const Options& options) {
  constexpr int kSkipped = 77;
  if (releases(options).empty()) {
    std::cout << "SKIPPED: no NCCL is in " << nnd::driver::nccl_cache() << "\n";
    return kSkipped;
  }
  const auto lines = play_all(options);
  std::cout << summary(lines);
  if (!options.page.empty()) std::ofstream(options.page) << page(lines);
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
  app.add_flag("--healthy", options.healthy, "Nothing is wrong with any");
  app.add_option("--keep", options.keep,
                 "A directory for what those left that were not judged right");
  app.add_option("--page", options.page, "A file for docs/verdict.md");
  app.add_option("--least-right", options.least_right, "Per cent; fewer are exit code 1");
  app.add_flag("--one", options.one)->group("");
  CLI11_PARSE(app, argc, argv);
  return options.one ? play_one(options) : run(options);
}
