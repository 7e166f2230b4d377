#include "cli/report/others.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "cli/common/number_list.h"
#include "cli/report/kernel_text.h"
#include "cli/report/names.h"
#include "cli/report/ras_text.h"
#include "cli/report/verdict.h"
#include "diagnosis/catalogue.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using foreign::Fact;
using nlohmann::json;
using report::Blame;
using report::Others;

namespace {

std::string id_of(const Fact& fact) {
  return fact.cause ? std::string(nccl_net_diag::cause_id(*fact.cause)) : std::string();
}

std::string writer_text(const foreign::Writer& writer) {
  std::string out;
  if (!writer.host.empty()) out = fmt::format("{} pid {}", writer.host, writer.pid);
  if (writer.rank)
    out = fmt::format("rank {}{}", *writer.rank, out.empty() ? "" : " (" + out + ")");
  return out.empty() ? "a process that its line doesn't name" : out;
}

std::string device_text(const Fact& fact) {
  std::string dev = fact.dev.empty() ? fact.pci : fact.dev;
  if (!fact.netdev.empty()) dev += dev.empty() ? fact.netdev : " (" + fact.netdev + ")";
  if (dev.empty()) return {};
  return fact.writer.host.empty() ? dev : fmt::format("{} of {}", dev, fact.writer.host);
}

// "to 10.0.0.2", "fe80::1 to ::ffff:10.0.0.2"
std::string ends_text(const Fact& fact) {
  const auto& there = fact.remote.empty() ? fact.peer : fact.remote;
  if (there.empty()) return {};
  return fact.local.empty() ? fmt::format(", towards {}", there)
                            : fmt::format(", from {} to {}", fact.local, there);
}

std::string what_text(const Fact& fact) {
  const auto id = id_of(fact);
  auto detail = shortened(fact.detail);
  if (detail.ends_with('.')) detail.pop_back();
  if (!id.empty()) return cause_text(id) + (detail.empty() ? "" : ": " + detail);
  if (!detail.empty()) return detail;
  return fact.source == foreign::Source::kWatchdog ? "a collective timed out"
                                                   : "a connection was closed by its peer";
}

std::string ranks_text(const std::vector<int>& ranks) {
  return rank_list({ranks.begin(), ranks.end()});
}

std::string call_text(const foreign::FlightCall& call) {
  return fmt::format("{}{}{}", call.what.empty() ? "collective" : call.what,
                     call.seq == 0 ? "" : fmt::format(" #{}", call.seq),
                     call.sizes.empty() ? "" : " (" + call.sizes + ")");
}

std::string at_place(const foreign::FlightCall& call) {
  return call.place.empty() ? "" : " at " + call.place;
}

const char* have(const std::vector<int>& ranks) { return ranks.size() == 1 ? "has" : "have"; }

const char* source_of(const report::Flight& flight) {
  return flight.by_watchdog ? "PyTorch's watchdog" : "Flight Recorder";
}

// What a job of PyTorch's waits for.
std::string flight_text(const report::Flight& flight) {
  using Kind = report::Flight::Kind;
  const auto guilty = ranks_text(flight.guilty), waiting = ranks_text(flight.waiting);
  const char* const waits = flight.waiting.size() == 1 ? "waits" : "wait";
  switch (flight.kind) {
    case Kind::kBehind:
      return fmt::format(
          "{} {} not called {} of {}, in which {} {}{}; {}", guilty, have(flight.guilty),
          call_text(flight.call), flight.group, waiting, waits, at_place(flight.call),
          flight.other ? fmt::format("the last call there was {}{}", call_text(*flight.other),
                                     at_place(*flight.other))
                       : "it has called nothing there");
    case Kind::kMismatched:
      return fmt::format("mismatched collectives in {}: {} called {}{}, and {} {}{}", flight.group,
                         guilty, call_text(*flight.other), at_place(*flight.other), waiting,
                         call_text(flight.call), at_place(flight.call));
    case Kind::kNoDump:
      return fmt::format(
          "{} {} in {} of {}{}; {} {}", waiting, waits, call_text(flight.call), flight.group,
          at_place(flight.call), guilty,
          !flight.by_watchdog ? "left no dump: died, or its dump is not here"
          : flight.guilty.size() == 1
              ? "told nothing of it: it has not come, it died, or its output is not here"
              : "told nothing of it: they have not come, they died, or their output is not here");
    case Kind::kAllIn:
      break;
  }
  const char* const called = flight.waiting.size() == 1 ? "has" : "have";
  const auto fewest =
      flight.other
          ? fmt::format("; {} {} called no more than {}{}, and the others went on", guilty,
                        have(flight.guilty), call_text(*flight.other), at_place(*flight.other))
          : std::string();
  return fmt::format("{} {} called {} of {}{}{}, and it does not end{}", waiting, called,
                     call_text(flight.call), flight.group, at_place(flight.call),
                     flight.waiting.size() == 1 ? "" : " alike", fewest);
}

std::string killed_text(const Others& others) {
  const auto rank = others.killed_rank
                        ? fmt::format("rank {} ({})", *others.killed_rank, others.killed_host)
                        : "a process of " + others.killed_host;
  return fmt::format("{} {}", rank, kernel_end_text(*others.killed));
}

// A rank on its node is the job's where there is one node.
std::string raised_text(const Others& others) {
  const auto& raised = *others.raised;
  const bool of_job = !raised.on_node || (raised.one_node && others.hosts.size() <= 1);
  return fmt::format(
      "{}: {}{}{}",
      raised.ranks.empty() ? "a rank" : (of_job ? "" : "local ") + rank_list(raised.ranks),
      shortened(raised.told->text), raised.told->place.empty() ? "" : ", at " + raised.told->place,
      raised.worker == nullptr ? "" : "; that worker " + kernel_end_text(*raised.worker));
}

// "rank 3 (node1 pid 912) crashed (SIGSEGV)"
std::string ended_text(const Others& others) {
  const Fact& ended = *others.ended;
  const int signal = -*ended.status;
  const auto writer = writer_text(ended.writer);
  const char* const name = ::sigabbrev_np(signal);
  return fmt::format("{}{} {}{} (SIG{})", ended.on_node && others.hosts.size() > 1 ? "local " : "",
                     writer, signal == SIGKILL ? "was killed" : "crashed",
                     ended.detail.empty() ? "" : " " + ended.detail, name == nullptr ? "?" : name);
}

std::string ended_remedy(const Fact& ended) {
  switch (-*ended.status) {
    case SIGKILL:
      return "Look in that node's kernel log (dmesg) for an OOM kill then, and at the memory limit "
             "of "
             "the job's cgroup or container; else somebody killed it.";
    case SIGBUS:
      return "df /dev/shm on that node: a bus error inside NCCL is mostly a /dev/shm that is full, "
             "as "
             "in containers with 64 MB (docker run --shm-size=8g or --ipc=host).";
    default:
      return "Look at its backtrace or core dump: the library that it crashed in is to be asked "
             "next; what other ranks tell after it follows from it.";
  }
}

// Kernels told of trouble, and nobody of a job.
bool is_kernels_alone(const Others& others) {
  return !others.kernel.empty() && others.processes == 0 && !others.found() && !others.raised;
}

// What may have ended the job, where nothing shows that it was then.
std::string maybe_text(const Others& others) {
  if (others.killed != nullptr)
    return fmt::format(" But {}, at some time: if that was then, it is why.", killed_text(others));
  if (others.raised && others.raised->own)
    return fmt::format(" But {}: if that was not caught, it is why.", raised_text(others));
  if (others.noted != nullptr)
    return fmt::format(" But {}{}.",
                       device_text(*others.noted).empty() ? "" : device_text(*others.noted) + ": ",
                       what_text(*others.noted));
  return {};
}

std::string verdict_of(const Others& others) {
  if (others.killed_first)
    return fmt::format("{}: {}.", others.blame == Blame::kOpen ? "open" : "not the network",
                       killed_text(others));
  if (others.raised_first) return fmt::format("not the network: {}.", raised_text(others));
  if (others.ended_first) return fmt::format("not the network: {}.", ended_text(others));
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
        "nothing failed in what NCCL and PyTorch left here{}; how the job ended that does not "
        "tell.{}",
        others.no_hca ? " (no HCA was found, and NCCL used TCP: is that meant?)" : "",
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
  return fmt::format(
      "{}{}{}{}; first told by {}{}.", prefix, device.empty() ? "" : device + ": ", what_text(told),
      ends_text(told), by_kernel ? "the kernel" : writer_text(told.writer),
      device.empty() && others.blame != Blame::kNotNetwork ? ", and the log names no device" : "");
}

std::string to_do(const Others& others) {
  if (others.killed_first) return kernel_end_remedy(*others.killed);
  if (others.raised_first && others.raised->worker != nullptr)
    return kernel_end_remedy(*others.raised->worker);
  if (others.raised_first)
    return "Look at that line of the program: what other ranks tell after it follows from it.";
  if (others.ended_first) return ended_remedy(*others.ended);
  if (others.flight_first && others.flight->kind == report::Flight::Kind::kAllIn)
    return "Look at NCCL's log (NCCL_DEBUG=INFO) and the kernel's on those nodes: a GPU, NCCL or "
           "the network holds it up.";
  if (others.flight_first)
    return fmt::format(
        "Look at what {} did then: its output, and py-spy dump where it still lives.",
        ranks_text(others.flight->guilty));
  if (others.ras_first) return ras_remedy(*others.ras);
  if (others.first == nullptr) return {};
  const Fact& told = *others.headline();
  if (!told.cause) return "Collect the output of all ranks: the one that ended first says why.";
  return std::string(diagnosis::explain(*told.cause).remedy);
}

std::string where_text(const Fact& fact) { return fmt::format("{}:{}", fact.file, fact.line); }

std::vector<std::string> first_lines(const Others& others) {
  std::vector<std::string> out;
  const bool ended = others.killed_first || others.raised_first || others.ended_first;
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

std::vector<std::string> open_lines(const Others& others) {
  std::vector<std::string> out;
  if (others.blame != Blame::kOpen || others.flight_first || others.killed_first ||
      others.ras_first || others.first == nullptr)
    return out;
  if (const auto* first = others.first; first->status)
    out.push_back(
        "This status alone tells no cable from a process that died: look at how the peer ended, "
        "and "
        "when.");
  return out;
}

std::vector<std::string> read_lines(const Others& others, const foreign::Evidence& evidence) {
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
std::vector<std::string> kernel_lines(const Others& others) {
  std::vector<std::string> out;
  for (const auto* fact : others.kernel)
    if (fact != others.headline())
      out.push_back(fmt::format("{}{} ({}).",
                                fact->writer.host.empty() ? "" : fact->writer.host + ": ",
                                shortened(fact->text), where_text(*fact)));
  return out;
}

std::string raised_line(const Others& others) {
  return fmt::format("{}: {} ({}).", foreign::name_of(others.raised->told->source),
                     raised_text(others), others.raised->told->file);
}

void add(Words& words, const char* title, std::vector<std::string> lines) {
  std::erase(lines, std::string());
  if (!lines.empty()) words.parts.push_back({title, std::move(lines)});
}

json fact_json(const Fact& fact) {
  json out{{"source", foreign::name_of(fact.source)},
           {"sure", fact.sure == foreign::Sure::kSaid ? "said" : "follows"},
           {"file", fact.file},
           {"line", fact.line},
           {"count", fact.count},
           {"text", fact.text}};
  const auto note = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  note("cause", id_of(fact));
  note("host", fact.writer.host);
  note("device", fact.dev);
  note("peer", fact.peer);
  note("local_gid", fact.local);
  note("remote_gid", fact.remote);
  if (fact.writer.pid != 0) out["pid"] = fact.writer.pid;
  if (fact.writer.rank) out["rank"] = *fact.writer.rank;
  if (fact.error) out["errno"] = *fact.error;
  if (fact.status) out["status"] = *fact.status;
  note("pci", fact.pci);
  note("netdev", fact.netdev);
  note("program", fact.program);
  if (fact.what == foreign::What::kRaised) note("raised_at", fact.place);
  if (fact.pid != 0) out["of_pid"] = fact.pid;
  if (fact.up_sec > 0) out["up_sec"] = fact.up_sec;
  return out;
}

json raised_json(const report::Raised& raised) {
  auto out = fact_json(*raised.told);
  out.erase("rank");
  out[raised.on_node ? "local_ranks" : "ranks"] = raised.ranks;
  out["own"] = raised.own;
  return out;
}

json call_json(const foreign::FlightCall& call) {
  json out{{"collective", call.what}, {"seq", call.seq}, {"sizes", call.sizes}};
  if (!call.place.empty()) out["called_at"] = call.place;
  return out;
}

json flight_json(const report::Flight& flight) {
  constexpr std::array kNames{"behind", "mismatched", "no-dump", "all-in"};
  json out{{"kind", kNames.at(static_cast<std::size_t>(flight.kind))},
           {"group", flight.group},
           {"call", call_json(flight.call)},
           {"waiting", flight.waiting},
           {"ranks", flight.guilty},
           {"source", source_of(flight)},
           {"text", flight_text(flight)}};
  if (flight.other) out["other_call"] = call_json(*flight.other);
  return out;
}

}  // namespace

Words words_of_others(const Others& others, const foreign::Evidence& evidence) {
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
  if (others.ras && !others.ras_first) add(out, "NCCL's RAS", {ras_text(*others.ras) + "."});
  add(out, "Kernel's log", kernel_lines(others));
  add(out, "Read", read_lines(others, evidence));
  add(out, "With the plugin",
      {"Its log has each connection's two ends, errno, port events, and who waited for whom."});
  return out;
}

std::vector<std::string> lines_beside(const report::Report& report, const Others& others) {
  std::vector<std::string> out;
  if (others.flight) {
    const bool against = others.flight->network_cleared() && report.blame == Blame::kNetwork;
    out.push_back(
        fmt::format("{}: {}.{}", source_of(*others.flight), flight_text(*others.flight),
                    against ? " This contradicts the event logs, which blame the network." : ""));
  }
  if (others.raised && others.raised->ended) out.push_back(raised_line(others));
  if (others.ras) out.push_back(fmt::format("NCCL's RAS: {}.", ras_text(*others.ras)));
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
  if (!named.empty() && named == id_of(told)) return add_said(said + ": it says the same.");
  return add_said(said + ". The event logs tell more, and come first.");
}

json others_json(const Others& others, const foreign::Evidence& evidence) {
  json out{{"files", evidence.files.size()},        {"problems", evidence.problems},
           {"processes", others.processes},         {"hosts", others.hosts},
           {"releases", others.releases},           {"transports", others.transports},
           {"blame", report::name_of(others.blame)}};
  if (others.first != nullptr) out["first"] = fact_json(*others.first);
  if (others.sign != nullptr) out["sign"] = fact_json(*others.sign);
  if (others.flight) out["flight_recorder"] = flight_json(*others.flight);
  if (others.ras) out["ras"] = ras_json(*others.ras);
  if (others.killed != nullptr) out["killed"] = fact_json(*others.killed);
  if (others.raised) out["raised"] = raised_json(*others.raised);
  if (others.ended != nullptr) out["ended"] = fact_json(*others.ended);
  for (const auto* fact : others.kernel) out["kernel"].push_back(fact_json(*fact));
  return out;
}

std::string raised_beside(const report::Report& report, const Others& others) {
  if (report.kind != report::Kind::kLost || report.ended_by_kernel || !others.raised ||
      !others.raised->own || report.picture.hosts.size() != 1)
    return {};
  const auto& losses = report.first.losses;
  const bool same = std::any_of(losses.begin(), losses.end(), [&](const report::Loss& loss) {
    const auto& launch = report.picture.members[loss.member].log->launch;
    const auto& rank = others.raised->on_node ? launch.local_rank : launch.rank;
    return loss.clean && rank && others.raised->ranks.contains(*rank);
  });
  const auto& told = *others.raised->told;
  if (!same) return {};
  return fmt::format(" Its program ended with {}{}.", shortened(told.text),
                     told.place.empty() ? "" : ", at " + told.place);
}

}  // namespace nnd::cli
