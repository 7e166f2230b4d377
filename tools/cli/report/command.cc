#include "cli/report/command.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/printable.h"
#include "cli/report/html.h"
#include "cli/report/json.h"
#include "cli/report/perfetto.h"
#include "cli/report/text.h"

namespace nnd::cli {

namespace {

// Every second, from the second on.
class Progress {
 public:
  explicit Progress(const Calling& calling) : quiet_(calling.quiet) {}

  void operator()(std::size_t done, std::size_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (quiet_ || now - told_ < std::chrono::seconds(1)) return;
    told_ = now;
    fmt::print(stderr, "read {} of {} files\n", done, all);
  }

 private:
  bool quiet_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

std::vector<std::string> files_of(const ReportOptions& options) {
  try {
    return report::files_of(options.paths);
  } catch (const log::ReadError& error) {
    throw CallError(kWrongCall, "no-such-file", error.what());
  }
}

report::Input read(const std::vector<std::string>& files, const Calling& calling) {
  report::Reading reading;
  reading.progress = Progress(calling);
  reading.stop = InterruptGuard::interrupted;
  return report::read_input(files, reading);
}

// What the answer shows lives as long as it does.
struct Shown {
  report::Input input;
  report::Report report;
  Words words;
};

std::vector<std::string> brief(const Shown& shown) {
  std::vector<std::string> out;
  for (const auto& part : shown.words.parts)
    if (part.title != "Time line" && part.title != "Read")
      out.push_back(printable(fmt::format("{}: {}", part.title, part.lines.front())));
  return out;
}

template <typename Write>
void write_file(const std::string& file, const Write& write) {
  if (file.empty()) return;
  std::ofstream out(file, std::ios::binary);
  write(out);
  out.flush();
  if (!out) throw CallError(kWrongCall, "output", "can't write " + file, file);
}

std::shared_ptr<Shown> examine(const ReportOptions& options, const Calling& calling) {
  const auto files = files_of(options);
  auto shown = std::make_shared<Shown>();
  shown->input = read(files, calling);
  shown->report = report::analyse(shown->input, options.expected_ranks);
  if (shown->report.picture.members.empty())
    throw CallError(
        kNotExamined, "nothing-readable",
        fmt::format("there is no event log and no black box of ours in {} {}{}", files.size(),
                    files.size() == 1 ? "file" : "files",
                    shown->input.problems.empty() ? "" : ": " + shown->input.problems.front()));
  shown->words = words_of(shown->report, shown->input);
  return shown;
}

// What would have to change for the verdict to.
std::uintmax_t bytes_of(const ReportOptions& options) {
  std::uintmax_t out = 0;
  for (const auto& file : files_of(options)) {
    std::error_code gone;
    const auto size = std::filesystem::file_size(file, gone);
    out += gone ? 0 : size + 1;
  }
  return out;
}

// Of a job that runs. A verdict may change with time alone: a process that is silent for too long.
Answer follow(const ReportOptions& options, const Calling& calling) {
  constexpr auto kBetweenLooks = std::chrono::seconds(1);
  constexpr int kLooksAnyway = 10;
  std::string told;
  int exit_code = kNotExamined, looks = 0;
  std::uintmax_t bytes = 0;
  while (!InterruptGuard::interrupted()) {
    const auto now = bytes_of(options);
    if (now != bytes || looks++ % kLooksAnyway == 0) try {
        bytes = now;
        const auto shown = examine(options, calling);
        exit_code = shown->report.found_cause() ? kBroken : kFine;
        const auto verdict = printable(shown->words.verdict);
        if (verdict != told && !shown->input.interrupted)
          fmt::print("{} {}\n", clock_text(shown->report.picture.last), verdict);
        std::fflush(stdout);
        told = verdict;
      } catch (const CallError& error) {  // nothing is there yet
        if (error.exit_code() != kNotExamined) throw;
      }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return already_told(exit_code);
}

}  // namespace

Answer report_job(const ReportOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  if (options.follow && calling.json)
    throw CallError(kWrongCall, "follow", "--follow is for people: there is no --json of it");
  if (options.follow) return follow(options, calling);
  const auto shown = examine(options, calling);
  const auto& job = shown->report;
  write_file(options.html, [&](std::ostream& out) { out << report_html(job, shown->words); });
  write_file(options.perfetto, [&](std::ostream& out) { write_perfetto(out, job); });
  Answer out;
  out.exit_code = job.found_cause() ? kBroken : kFine;
  out.warned = job.warned;
  out.verdict = printable(shown->words.verdict);
  if (shown->input.interrupted) {
    out.exit_code = kNotExamined;
    out.verdict = fmt::format("interrupted, and not all was read; so far: {}", out.verdict);
  }
  if (calling.json) out.body = report_json(job, shown->input, shown->words);
  out.page = [shown](const Screen& screen) { return report_page(shown->words, screen); };
  out.brief = [shown] { return brief(*shown); };
  return out;
}

}  // namespace nnd::cli
