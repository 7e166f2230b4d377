#include "cli/report/command.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <memory>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/printable.h"
#include "cli/report/html.h"
#include "cli/report/json.h"
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
  const InterruptGuard guard;
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

void write_page(const std::string& file, const Shown& shown) {
  std::ofstream out(file, std::ios::binary);
  out << report_html(shown.report, shown.words);
  out.flush();
  if (!out) throw CallError(kWrongCall, "html", "can't write " + file, file);
}

}  // namespace

Answer report_job(const ReportOptions& options, const Calling& calling) {
  const auto files = files_of(options);
  auto shown = std::make_shared<Shown>();
  shown->input = read(files, calling);
  shown->report = report::analyse(shown->input, options.expected_ranks);
  const auto& job = shown->report;
  if (job.picture.members.empty())
    throw CallError(
        kNotExamined, "nothing-readable",
        fmt::format("there is no event log and no black box of ours in {} {}{}", files.size(),
                    files.size() == 1 ? "file" : "files",
                    shown->input.problems.empty() ? "" : ": " + shown->input.problems.front()));
  shown->words = words_of(job, shown->input);
  if (!options.html.empty()) write_page(options.html, *shown);
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
