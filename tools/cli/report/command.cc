#include "cli/report/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/output_file.h"
#include "cli/common/page_origin.h"
#include "cli/common/printable.h"
#include "cli/common/time_text.h"
#include "cli/report/html.h"
#include "cli/report/json.h"
#include "cli/report/live_ras.h"
#include "cli/report/names.h"
#include "cli/report/others.h"
#include "cli/report/others_html.h"
#include "cli/report/perfetto.h"
#include "cli/report/restart_json.h"
#include "cli/report/text.h"
#include "cli/report/verdict.h"
#include "cli/report/why.h"
#include "foreign/evidence.h"
#include "log/source.h"
#include "report/jobs.h"
#include "report/live_input.h"

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
    print_err(fmt::format("read {} of {} files\n", done, all));
  }

 private:
  bool quiet_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

std::vector<std::string> files_of(const ReportOptions& options) {
  try {
    return report::files_of(options.paths, InterruptGuard::interrupted);
  } catch (const log::ReadError& error) {
    throw CallError(kWrongCall, "no-such-file", printable(error.what()));
  }
}

report::Reading reading_for(const Calling& calling) {
  report::Reading out;
  out.progress = Progress(calling);
  out.stop = InterruptGuard::interrupted;
  return out;
}

struct Read {
  report::Input input;
  foreign::Evidence evidence;  // of other programs' files
  std::size_t files = 0;
};

// What the answer shows lives as long as it does.
struct Shown {
  report::Input input;
  foreign::Evidence evidence;
  report::ForeignFindings others;
  report::Report report;
  Words words;
  std::vector<JobLine> jobs;
};

std::vector<std::string> brief(const Shown& shown) {
  std::vector<std::string> out;
  for (const auto& part : shown.words.parts)
    if (part.title != "Time line" && part.title != "Read")
      out.push_back(printable(fmt::format("{}: {}", part.title, part.lines.front())));
  return out;
}

report::Outcome outcome_of(const report::Report& report) {
  if (report.found_cause()) return report::Outcome::kFailed;
  // Who ended all of them knows why they were started again.
  const bool ended = report.kind == report::Kind::kEnded && report.started_again != 0;
  return ended || has_no_word(report) ? report::Outcome::kUnknown : report::Outcome::kFine;
}

// All of them, and the report of the one that counts.
void judge_jobs(Shown& shown, const ReportOptions& options) {
  constexpr std::size_t kMostJudged = 16;  // the last ones
  const auto runs = report::jobs_of(shown.input);
  std::vector<report::JobRun> wanted;
  std::vector<report::Report> reports;
  std::vector<report::Outcome> outcomes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!options.job.empty() && runs[i].job != options.job) continue;
    if (options.incarnation && runs[i].incarnation != *options.incarnation) continue;
    const bool asked = !options.job.empty() || options.incarnation.has_value();
    if (!asked && i + kMostJudged < runs.size()) continue;
    reports.push_back(report::analyse(shown.input, options.expected_ranks, i));
    report::hear_kernel(reports.back(), shown.evidence);
    if (i + 1 < runs.size() && runs[i + 1].job == runs[i].job)
      reports.back().started_again = runs[i + 1].first;
    wanted.push_back(runs[i]);
    outcomes.push_back(outcome_of(reports.back()));
  }
  if (wanted.empty() && !runs.empty())
    throw CallError(kWrongCall, "job", "no such job, or no such incarnation of it, is here");
  if (wanted.empty()) return;
  const auto chosen = report::job_to_judge(wanted, outcomes);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    shown.jobs.push_back({wanted[i], report::name_of(reports[i].kind),
                          report::name_of(reports[i].blame), verdict(reports[i]), i == chosen});
  shown.report = std::move(reports[chosen]);
}

bool is_others_alone(const Shown& shown) {
  return shown.report.picture.members.empty() && !shown.evidence.files.empty();
}

// What the event logs say goes on being said, second.
void let_others_decide(Shown& shown) {
  Words told = words_of_others(shown.others, shown.evidence);
  std::erase_if(shown.words.parts, [](const auto& part) { return part.title == "What to do"; });
  std::erase_if(told.parts, [](const auto& part) { return part.title != "What to do"; });
  told.parts.push_back({"Event logs", {std::move(shown.words.verdict)}});
  shown.words.verdict = std::move(told.verdict);
  shown.words.parts.insert(shown.words.parts.begin(), std::make_move_iterator(told.parts.begin()),
                           std::make_move_iterator(told.parts.end()));
  shown.report.blame = shown.others.blame;
}

Shown judged(Read read, const ReportOptions& options) {
  Shown shown;
  shown.input = std::move(read.input);
  shown.evidence = std::move(read.evidence);
  shown.others = report::findings_of(shown.evidence);
  judge_jobs(shown, options);
  if (is_others_alone(shown)) {
    shown.words = words_of_others(shown.others, shown.evidence);
    return shown;
  }
  if (shown.report.picture.members.empty())
    throw CallError(
        kNotExamined, "nothing-readable",
        fmt::format(
            "there is no event log, no black box and no file of another program that report knows "
            "in {} {}{}",
            read.files, read.files == 1 ? "file" : "files",
            shown.input.problems.empty() ? "" : ": " + printable(shown.input.problems.front())));
  shown.words = words_of(shown.report, shown.input);
  shown.words.verdict += raised_beside(shown.report, shown.others);
  shown.words.verdict += ended_beside(shown.report, shown.others);
  shown.words.verdict += later_start_text(shown.jobs);
  if (decide(shown.others, shown.report)) let_others_decide(shown);
  if (auto lines = lines_beside(shown.report, shown.others); !lines.empty())
    shown.words.parts.push_back({"Other logs", std::move(lines)});
  if (auto lines = job_lines(shown.jobs); !lines.empty())
    shown.words.parts.push_back({"Jobs", std::move(lines)});
  if (options.why) shown.words.parts.push_back({"Why", why_lines(shown.report)});
  return shown;
}

// Of a job that runs. A verdict may change with time alone: a process that is silent for too long.
class Follower {
 public:
  Follower(const ReportOptions& options, const Calling& calling)
      : options_(options), reading_(reading_for(calling)) {}

  void look() {
    constexpr int kLooksAnyway = 10;
    const bool changed = live_.look(files_of(options_), reading_);
    if (InterruptGuard::interrupted() || (!changed && looks_++ % kLooksAnyway != 0)) return;
    const auto report = report::analyse(live_.input(), options_.expected_ranks);
    if (report.picture.members.empty()) return;  // nothing is there yet
    exit_code_ = report.found_cause() ? kBroken : kFine;
    const auto said = printable(verdict(report));
    if (said != told_) print_out(fmt::format("{} {}\n", clock_text(report.picture.last), said));
    told_ = said;
    if (report.found_cause()) hear_ras(report);
  }
  int exit_code() const { return exit_code_; }

 private:
  // Only of a job that isn't well: its processes have to answer.
  void hear_ras(const report::Report& report) {
    std::set<std::int64_t> pids;
    for (const auto& member : report.picture.members) pids.insert(member.log->pid);
    if (const auto said = ras_.news(pids); !said.empty())
      print_out(
          fmt::format("{} NCCL's RAS: {}.\n", clock_text(report.picture.last), printable(said)));
  }

  const ReportOptions& options_;
  report::Reading reading_;
  report::LiveInput live_;
  LiveRas ras_;
  std::string told_;
  int exit_code_ = kNotExamined, looks_ = 0;
};

// Ctrl-C ends the reading, and what was read is told; what comes after it ends as any program.
Read read_all(const ReportOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  const auto files = files_of(options);
  Read out;
  out.files = files.size();
  out.input = report::read_input(files, reading_for(calling));
  out.evidence = foreign::read_files(out.input.others, InterruptGuard::interrupted);
  out.input.interrupted = out.input.interrupted || InterruptGuard::interrupted();
  return out;
}

Answer follow(const ReportOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(1000);
  constexpr int kShare = 4;  // of the time that looking takes: big jobs are looked at less often
  Follower follower(options, calling);
  while (!InterruptGuard::interrupted() && flush_output() == 0) {
    const auto begin = Clock::now();
    follower.look();
    const auto next =
        Clock::now() + std::max<Clock::duration>(kBetweenLooks, kShare * (Clock::now() - begin));
    while (Clock::now() < next && !InterruptGuard::interrupted())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return already_told(follower.exit_code());
}

void check(const ReportOptions& options, const Calling& calling) {
  if (!options.follow) return;
  if (calling.json)
    throw CallError(kWrongCall, "follow", "--follow is for people: there is no --json of it");
  if (!options.html.empty() || !options.perfetto.empty())
    throw CallError(kWrongCall, "follow", "--follow writes no file: no --html and no --perfetto");
  if (std::find(options.paths.begin(), options.paths.end(), log::kStandardInput) !=
      options.paths.end())
    throw CallError(kWrongCall, "follow", "--follow looks at files again: standard input has none");
}

// What all answers of a report have in common, at the end of making one.
void finish(Answer& out, const std::shared_ptr<Shown>& shown) {
  out.verdict = printable(shown->words.verdict);
  if (shown->input.interrupted) {
    out.exit_code = kNotExamined;
    out.verdict = fmt::format("interrupted, and not all was read; so far: {}", out.verdict);
  }
  out.page = [shown](const Screen& screen) { return report_page(shown->words, screen); };
  out.brief = [shown] { return brief(*shown); };
}

// Of a job of which only other programs tell.
Answer answer_of_others(const std::shared_ptr<Shown>& shown, const ReportOptions& options,
                        const OutputFile& page) {
  if (!options.perfetto.empty())
    throw CallError(kNotExamined, "nothing-to-draw",
                    "--perfetto shows event logs, and there are none of this job");
  const bool failed = shown->others.found();
  const bool page_kept = page.write([&](std::ostream& to) {
    to << others_html(shown->others, shown->evidence, shown->words, {options.command, now_text()});
  });
  Answer out;
  out.exit_code = !page_kept ? kNotExamined : failed ? kBroken : kFine;
  out.judges = failed;
  out.body = {{"kind", report::name_of(shown->others.kind)},
              {"blame", report::name_of(shown->others.blame)},
              {"restart", restart_json(report::restart_of(shown->others))},
              {"others", others_json(shown->others, shown->evidence)}};
  if (const auto* told = shown->others.headline();
      !shown->others.flight_first && told != nullptr && told->cause)
    out.body["cause"] = nccl_net_diag::cause_id(*told->cause);
  finish(out, shown);
  return out;
}

}  // namespace

Answer report_job(const ReportOptions& options, const Calling& calling) {
  check(options, calling);
  if (options.follow) return follow(options, calling);
  const OutputFile page(options.html, kPageStart), trace(options.perfetto, kTraceStart);
  const auto shown = std::make_shared<Shown>(judged(read_all(options, calling), options));
  if (is_others_alone(*shown)) return answer_of_others(shown, options, page);
  const auto& job = shown->report;
  Answer out;
  out.exit_code = job.found_cause() ? kBroken : kFine;
  const bool page_kept = page.write([&](std::ostream& to) {
    to << report_html(job, shown->words, {options.command, now_text()});
  });
  const bool trace_kept = trace.write([&](std::ostream& to) { write_perfetto(to, job); });
  if (!page_kept || !trace_kept) out.exit_code = kNotExamined;
  out.warned = job.warned;
  out.judges = out.exit_code != kFine || judges(job);
  if (calling.json) {
    out.body = report_json(job, shown->input, shown->words, shown->jobs);
    if (!shown->evidence.files.empty())
      out.body["others"] = others_json(shown->others, shown->evidence);
  }
  finish(out, shown);
  return out;
}

}  // namespace nnd::cli
