#include "cli/report/others.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "cli/common/gid_text.h"
#include "cli/common/number_list.h"
#include "cli/report/bandwidth_text.h"
#include "cli/report/kernel_text.h"
#include "cli/report/names.h"
#include "cli/report/others_text.h"
#include "cli/report/ras_text.h"
#include "cli/report/verdict.h"
#include "diagnosis/catalogue.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using foreign::Fact;
using report::Blame;
using report::ForeignFindings;

namespace {

// Kernels told of trouble, and nobody of a job.
bool is_kernels_alone(const ForeignFindings& others) {
  return !others.kernel.empty() && others.processes == 0 && !others.found() && !others.raised;
}

// What may have ended the job, where nothing shows that it was then.
std::string maybe_text(const ForeignFindings& others) {
  if (others.killed != nullptr)
    return fmt::format(" But {}, at some time: if that was then, it is why.", killed_text(others));
  if (others.raised && others.raised->own)
    return fmt::format(" But {}: if that was not caught, it is why.", raised_text(others));
  if (others.ended != nullptr) return fmt::format(" But {}.", ended_text(others));
  if (others.noted != nullptr)
    return fmt::format(" But {}{}.",
                       device_text(*others.noted).empty() ? "" : device_text(*others.noted) + ": ",
                       what_text(*others.noted));
  return {};
}

std::string verdict_of(const ForeignFindings& others) {
  if (others.killed_first)
    return fmt::format("{}: {}.", others.blame == Blame::kOpen ? "open" : "not the network",
                       killed_text(others));
  if (others.raised_first) return fmt::format("not the network: {}.", raised_text(others));
  if (others.ended_first) return fmt::format("not the network: {}.", ended_text(others));
  if (others.cancelled_first)
    return fmt::format("open: {}; its log, and slurmctld's, say which and why.",
                       cancelled_text(others));
  if (is_kernels_alone(others))
    return fmt::format(
        "no word of a job: {} of what can end one, the last: {}; nothing here tells whether it "
        "did.",
        others.kernel.size() == 1 ? "the kernel told once"
                                  : fmt::format("kernels told {} times", others.kernel.size()),
        shortened(others.kernel.front()->text));
  if (others.flight_first)
    return fmt::format("{}: {}.", others.flight->network_cleared() ? "not the network" : "open",
                       flight_text(*others.flight));
  if (others.ras_first) return fmt::format("open: {}.", ras_text(*others.ras));
  if (others.first == nullptr)
    return fmt::format(
        "nothing failed in what NCCL and PyTorch left here{}; {}.{}",
        others.no_hca ? " (no HCA was found, and NCCL used TCP: is that meant?)" : "",
        others.cancelled != nullptr ? cancelled_text(others)
                                    : "how the job ended that does not tell",
        maybe_text(others));
  const Fact& told = *others.headline();
  const auto device = device_text(told);
  if (others.first->what == foreign::What::kEcho && others.sign == nullptr)
    return fmt::format(
        "open: {}: this only echoes what happened before, and nothing here shows that; first "
        "told by {}.{}",
        what_text(told), writer_text(told.writer), maybe_text(others));
  const char* prefix = others.blame == Blame::kNotNetwork ? "not the network: "
                       : others.blame == Blame::kOpen     ? "open: "
                                                          : "";
  const bool by_kernel = told.source == foreign::Source::kKernelLog;
  if (!others.shared_end.empty() && others.sign == nullptr)
    return fmt::format("{}{}{}{}; {} is one end of all {} that failed like that.", prefix,
                       device.empty() ? "" : device + ": ", what_text(told), ends_text(told),
                       without_mapping(others.shared_end),
                       count_of(others.alike.size() + 1, "request", "requests"));
  return fmt::format(
      "{}{}{}{}; first told by {}{}.", prefix, device.empty() ? "" : device + ": ", what_text(told),
      ends_text(told), by_kernel ? "the kernel" : writer_text(told.writer),
      device.empty() && others.blame != Blame::kNotNetwork ? ", and the log names no device" : "");
}

// What CUDA's error number tells of NVLink SHARP, as it was found in public threads.
std::string nvls_remedy(const std::string& told) {
  static const std::regex kNumber("C(?:UDA error|uda failure) (\\d+)");
  std::smatch match;
  const int number =
      std::regex_search(told, match, kNumber) ? std::atoi(match[1].str().c_str()) : 0;
  if (number == 2)
    return "The NVSwitches' 128 places for multicast are used up, by many communicators at once, "
           "or "
           "the GPU's memory is: NCCL_NVLS_ENABLE=0 for the small communicators, or for all.";
  if (number == 401 || number == 802)
    return "The Fabric Manager does not run on that node, or is not done: systemctl status "
           "nvidia-fabricmanager, nvidia-smi -q (Fabric). Until then NCCL_NVLS_ENABLE=0.";
  return std::string(diagnosis::explain(nccl_net_diag::Cause::kGpuNvls).remedy);
}

std::string to_do(const ForeignFindings& others) {
  if (others.killed_first) return kernel_end_remedy(*others.killed);
  if (others.raised_first && others.raised->worker != nullptr)
    return kernel_end_remedy(*others.raised->worker);
  if (others.raised_first)
    return "Look at that line of the program: what other ranks tell after it follows from it.";
  if (others.ended_first) return ended_remedy(*others.ended);
  if (others.cancelled_first)
    return "sacct -j JOB and scontrol show node say which node, and why; its kernel's log says "
           "more.";
  if (others.flight_first && others.flight->kind == report::Flight::Kind::kAllIn)
    return "Look at NCCL's log (NCCL_DEBUG=INFO) and the kernel's on those nodes: a GPU, NCCL or "
           "the network holds it up.";
  if (others.flight_first)
    return fmt::format(
        "Look at what {} did then: its output, and py-spy dump where it still lives.",
        rank_list({others.flight->guilty.begin(), others.flight->guilty.end()}));
  if (others.ras_first) return ras_remedy(*others.ras);
  if (others.first == nullptr) return {};
  const Fact& told = *others.headline();
  if (!told.cause) return "Collect the output of all ranks: the one that ended first says why.";
  if (told.cause == nccl_net_diag::Cause::kGpuNvls) return nvls_remedy(told.text);
  if (told.cause == nccl_net_diag::Cause::kDevOob && told.source == foreign::Source::kOutput)
    return "Name the interface that joins the nodes in GLOO_SOCKET_IFNAME, or give each host's "
           "name "
           "its address there (/etc/hosts).";
  if (told.detail.starts_with("NET/OFI"))
    return "See whether the peer's process still lived. If it did, and this is EFA: its security "
           "group must let all traffic in from itself and, by a rule of its own, out to itself; "
           "and "
           "both instances belong in one subnet.";
  return std::string(diagnosis::explain(*told.cause).remedy);
}

std::string where_text(const Fact& fact) { return fmt::format("{}:{}", fact.file, fact.line); }

std::vector<std::string> first_lines(const ForeignFindings& others) {
  std::vector<std::string> out;
  const bool ended =
      others.killed_first || others.raised_first || others.ended_first || others.cancelled_first;
  if (others.flight && (ended || !others.flight_first))
    out.push_back(fmt::format("{}: {}.", source_of(*others.flight), flight_text(*others.flight)));
  const auto add = [&](const Fact& fact) {
    out.push_back(fmt::format("{}: {}: {}", foreign::name_of(fact.source), where_text(fact),
                              shortened(fact.text)));
    if (fact.sure == foreign::Sure::kFollows)
      out.push_back("The cause follows from this line, which does not name it.");
  };
  const auto* const told = others.headline();
  if (told == nullptr) return out;
  add(*told);
  if (others.first != nullptr && told != others.first) add(*others.first);
  return out;
}

std::vector<std::string> open_lines(const ForeignFindings& others) {
  std::vector<std::string> out;
  if (others.blame != Blame::kOpen || others.flight_first || others.killed_first ||
      others.ras_first || others.cancelled_first || others.first == nullptr)
    return out;
  if (const auto* first = others.first; first->status)
    out.push_back(
        "This status alone tells no cable from a process that died: look at how the peer ended, "
        "and "
        "when.");
  return out;
}

std::vector<std::string> read_lines(const ForeignFindings& others,
                                    const foreign::Evidence& evidence) {
  std::vector<std::string> what;
  if (others.processes != 0)
    what.push_back(fmt::format("lines of {} on {}",
                               count_of(others.processes, "process", "processes"),
                               count_of(others.hosts.size(), "host", "hosts")));
  if (!others.releases.empty())
    what.push_back(fmt::format("NCCL {}", fmt::join(others.releases, " and ")));
  if (!others.transports.empty())
    what.push_back(fmt::format("over {}", fmt::join(others.transports, " and ")));
  const auto dumps = static_cast<std::size_t>(
      std::count_if(evidence.dumps.begin(), evidence.dumps.end(),
                    [](const foreign::FlightDump& dump) { return !dump.by_watchdog; }));
  if (dumps != 0)
    what.push_back(count_of(dumps, "dump of Flight Recorder's", "dumps of Flight Recorder's"));
  if (!evidence.ras.empty())
    what.push_back(count_of(evidence.ras.size(), "answer of RAS", "answers of RAS"));
  std::vector<std::string> out{fmt::format("{} of other programs{}{}.",
                                           count_of(evidence.files.size(), "file", "files"),
                                           what.empty() ? "" : ": ", fmt::join(what, ", "))};
  for (const auto& problem : evidence.problems) out.push_back(problem + ".");
  if (evidence.left_out != 0) out.push_back(fmt::format("{} facts more.", evidence.left_out));
  return out;
}

// What kernels told besides.
std::vector<std::string> kernel_lines(const ForeignFindings& others) {
  std::vector<std::string> out;
  for (const auto* fact : others.kernel)
    if (fact != others.headline())
      out.push_back(fmt::format("{}{} ({}).",
                                fact->writer.host.empty() ? "" : fact->writer.host + ": ",
                                shortened(fact->text), where_text(*fact)));
  return out;
}

std::string raised_line(const ForeignFindings& others) {
  return fmt::format("{}: {} ({}).", foreign::name_of(others.raised->told->source),
                     raised_text(others), others.raised->told->file);
}

void add(Words& words, const char* title, std::vector<std::string> lines) {
  std::erase(lines, std::string());
  if (!lines.empty()) words.parts.push_back({title, std::move(lines)});
}

}  // namespace

Words words_of_others(const ForeignFindings& others, const foreign::Evidence& evidence) {
  Words out;
  out.verdict = verdict_of(others);
  add(out, "First", first_lines(others));
  add(out, "What to do", {shortened(to_do(others))});
  add(out, "Open", open_lines(others));
  if (!others.alike.empty())
    add(out, "Also",
        {fmt::format("{} told the same: {}, ...",
                     count_of(others.alike.size(), "line more", "lines more"),
                     writer_text(others.alike.front()->writer))});
  if (others.raised && !others.raised_first) add(out, "Exception", {raised_line(others)});
  if (others.ended != nullptr && !others.ended_first)
    add(out, "Ended",
        {fmt::format("{} ({}).", shortened(others.ended->text), where_text(*others.ended))});
  if (others.cancelled != nullptr && others.found() && !others.cancelled_first)
    add(out, "Cancelled", {cancelled_text(others) + "."});
  if (others.ras && !others.ras_first) add(out, "NCCL's RAS", {ras_text(*others.ras) + "."});
  add(out, "Kernel's log", kernel_lines(others));
  add(out, "NCCL's Inspector", bandwidth_lines(others.bandwidths));
  add(out, "Read", read_lines(others, evidence));
  add(out, "With the plugin",
      {"Its log has each connection's two ends, errno, port events, and who waited for whom."});
  return out;
}

bool decide(const ForeignFindings& others, const report::Report& report) {
  const bool open = report.kind == report::Kind::kHang || report.kind == report::Kind::kMissing ||
                    report.kind == report::Kind::kLost;
  return open && report.blame == Blame::kOpen && others.found() &&
         others.blame == Blame::kNotNetwork;
}

std::vector<std::string> lines_beside(const report::Report& report, const ForeignFindings& others) {
  std::vector<std::string> out;
  if (others.flight) {
    const bool against = others.flight->network_cleared() && report.blame == Blame::kNetwork;
    out.push_back(
        fmt::format("{}: {}.{}", source_of(*others.flight), flight_text(*others.flight),
                    against ? " This contradicts the event logs, which blame the network." : ""));
  }
  if (others.raised && others.raised->ended) out.push_back(raised_line(others));
  if (others.ras) out.push_back(fmt::format("NCCL's RAS: {}.", ras_text(*others.ras)));
  for (const auto& line : bandwidth_lines(others.bandwidths))
    out.push_back("NCCL's Inspector: " + line);
  if (others.first == nullptr) return out;
  const Fact& told = others.sign != nullptr ? *others.sign : *others.first;
  const auto add_said = [&](const std::string& text) {
    out.push_back(text);
    return out;
  };
  const auto said = fmt::format("{}: {}{} ({})", foreign::name_of(told.source), what_text(told),
                                ends_text(told), where_text(told));
  const auto named = named_cause(report);
  if (others.first->what == foreign::What::kEcho && others.sign == nullptr)
    return add_said(said + ".");
  if (!report.found_cause())
    return add_said(said + ". This contradicts the event logs, in which nothing failed.");
  if (!named.empty() && named == id_of_cause(told)) return add_said(said + ": it says the same.");
  return add_said(said + ". The event logs tell more, and come first.");
}

std::string ended_beside(const report::Report& report, const ForeignFindings& others) {
  if (report.kind != report::Kind::kEnded || others.ended == nullptr || *others.ended->status <= 0)
    return {};
  const auto& members = report.picture.members;
  const bool here =
      !others.ended->on_node && std::any_of(members.begin(), members.end(), [&](const auto& one) {
        return one.log->launch.rank && one.log->launch.rank == others.ended->writer.rank;
      });
  return here ? fmt::format(" What was printed tells that {}.", ended_text(others)) : "";
}

std::string raised_beside(const report::Report& report, const ForeignFindings& others) {
  if (report.kind != report::Kind::kLost || report.ended_by_kernel || !others.raised ||
      (others.raised->on_node && report.picture.hosts.size() != 1))
    return {};
  const auto& losses = report.first.losses;
  const bool same = std::any_of(losses.begin(), losses.end(), [&](const report::Loss& loss) {
    const auto& launch = report.picture.members[loss.member].log->launch;
    const auto& rank = others.raised->on_node ? launch.local_rank : launch.rank;
    return loss.clean && rank && others.raised->ranks.contains(*rank);
  });
  const auto& told = *others.raised->told;
  if (!same) return {};
  return fmt::format(" Its program {} {}{}.",
                     others.raised->own ? "ended with" : "gave up, which others may have led to:",
                     shortened(told.text), told.place.empty() ? "" : ", at " + told.place);
}

}  // namespace nnd::cli
