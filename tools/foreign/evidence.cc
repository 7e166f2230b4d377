#include "foreign/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "foreign/gloo.h"
#include "foreign/kernel_log.h"
#include "foreign/nccl_text.h"
#include "foreign/pickle.h"
#include "foreign/process_end.h"
#include "foreign/ras_status.h"
#include "foreign/releases.h"
#include "foreign/rendezvous.h"
#include "foreign/torch_error.h"
#include "foreign/torch_says.h"
#include "foreign/traceback.h"
#include "foreign/watchdog.h"
#include "log/on_threads.h"
#include "log/source.h"

namespace nnd::foreign {

namespace {

// A kernel's lines of one device differ by their time.
std::string key_of(const Fact& fact) {
  if (fact.source == Source::kKernelLog)
    return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", fact.file, fact.writer.host, fact.at_sec,
                       fact.up_sec, fact.text);
  if (fact.source == Source::kErrorFile) return fact.file;
  if (fact.source == Source::kOutput)
    return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", fact.writer.host, fact.pid,
                       fact.writer.rank.value_or(-1), fact.on_node, fact.status.value_or(0),
                       fact.text);
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}",
                     fact.writer.host, fact.writer.pid, fact.writer.rank.value_or(-1),
                     static_cast<int>(fact.what), fact.cause ? static_cast<int>(*fact.cause) : -1,
                     fact.dev, fact.peer, fact.local, fact.remote,
                     fact.what == What::kRank ? fact.rank.value_or(-1) : fact.error.value_or(-1),
                     fact.cause ? "" : fact.text);
}

constexpr std::size_t kAtOnce = 1 << 18;

// Hands over the lines of a file, without their ends. One that is longer than any of NCCL's is cut.
// `buffer`: what was read of it before.
template <class Take>
void for_each_line(log::Source& source, std::string buffer, const std::function<bool()>& stop,
                   const Take& take) {
  constexpr std::size_t kLongest = 1 << 16;
  std::uint64_t number = 0;
  bool skipping = false;
  for (bool more = true; more && !stop();) {
    const auto had = buffer.size();
    buffer.resize(had + kAtOnce);
    const auto got = source.read(buffer.data() + had, kAtOnce);
    buffer.resize(had + got);
    more = got != 0;
    std::string_view rest = buffer;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (!std::exchange(skipping, false)) take(rest.substr(0, end), ++number);
      rest.remove_prefix(end + 1);
    }
    if (!more && !rest.empty() && !skipping) take(rest, ++number);
    if (rest.size() > kLongest) {
      if (!std::exchange(skipping, true)) take(rest.substr(0, kLongest), ++number);
      rest = {};
    }
    buffer.erase(0, buffer.size() - rest.size());
  }
}

// All of it, `begin` included. Throws PickleError where it is larger than that.
std::string read_whole(log::Source& source, std::string begin, std::size_t most) {
  for (std::size_t got = begin.size(); got != 0;) {
    const auto had = begin.size();
    if (had > most) throw PickleError("it is larger than any such file");
    begin.resize(had + kAtOnce);
    got = source.read(begin.data() + had, kAtOnce);
    begin.resize(had + got);
  }
  return begin;
}

void add_dump(const std::string& name, std::optional<FlightDump> dump, Evidence& out) {
  if (!dump) return;
  out.dumps.push_back(std::move(*dump));
  out.files.push_back(name);
}

void read_lines(const std::string& name, log::Source& source, std::string begin,
                const std::function<bool()>& stop, Evidence& out) {
  std::uint64_t told = 0;
  const auto add = [&](Fact&& fact) {
    ++told;
    fact.file = name;
    out.add(std::move(fact));
  };
  NcclText nccl(add);
  constexpr std::size_t kMostOfKernel = 10'000;  // the last ones
  std::deque<Fact> kernels;
  KernelLog kernel([&](Fact&& fact) {
    kernels.push_back(std::move(fact));
    if (kernels.size() <= kMostOfKernel) return;
    kernels.pop_front();
    ++out.left_out;
  });
  Watchdog watchdog;
  Tracebacks tracebacks(add);
  ProcessEnds ends(add);
  Rendezvous rendezvous(add);
  const Gloo gloo(add);
  const TorchSays torch(add);
  for_each_line(source, std::move(begin), stop, [&](std::string_view line, std::uint64_t number) {
    nccl.take(line, number);
    watchdog.take(line, number);
    kernel.take(line, number);
    if (line.find("NCCL INFO ") != std::string_view::npos) return;
    if (!tracebacks.take(line, number)) ends.take(line, number);
    rendezvous.take(line, number);
    gloo.take(line, number);
    torch.take(line, number);
  });
  for (auto& fact : kernels) add(std::move(fact));
  for (auto fact : watchdog.timeouts()) add(std::move(fact));
  auto dumps = watchdog.dumps(name);
  if (nccl.lines() != 0 || kernel.lines() != 0 || told != 0 || !dumps.empty())
    out.files.push_back(name);
  std::move(dumps.begin(), dumps.end(), std::back_inserter(out.dumps));
}

void read_inspector(const std::string& name, log::Source& source, std::string begin,
                    const std::function<bool()>& stop, Evidence& out) {
  Inspector inspector;
  for_each_line(source, std::move(begin), stop,
                [&](std::string_view line, std::uint64_t) { inspector.take(line); });
  out.inspected = inspector.take_all();
  out.files.push_back(name);
}

constexpr std::size_t kMostOfDump = std::size_t{1} << 28, kMostOfError = std::size_t{1} << 24;

void read_file(const std::string& name, const std::function<bool()>& stop, Evidence& out) {
  const auto source = log::open_source(name);
  std::string begin(kAtOnce, '\0');
  begin.resize(source->read(begin.data(), begin.size()));
  if (starts_pickle(begin))
    return add_dump(
        name, read_flight_dump(name, read_whole(*source, std::move(begin), kMostOfDump)), out);
  if (begin.starts_with('{') && may_be_flight_json(begin))
    return add_dump(
        name, read_flight_json(name, read_whole(*source, std::move(begin), kMostOfDump)), out);
  if (may_be_inspector(begin)) return read_inspector(name, *source, std::move(begin), stop, out);
  if (may_be_ras_status(begin)) {
    begin = read_whole(*source, std::move(begin), kMostOfDump);
    if (auto status = read_ras_status(name, begin)) {
      out.ras.push_back(std::move(*status));
      out.files.push_back(name);
      return;
    }
  }
  if (may_be_torch_error(begin)) {
    begin = read_whole(*source, std::move(begin), kMostOfError);
    if (auto fact = read_torch_error(name, begin)) {
      out.add(std::move(*fact));
      out.files.push_back(name);
      return;
    }
  }
  read_lines(name, *source, std::move(begin), stop, out);
}

// Those of a source begin with the file's name.
std::string problem_of(const std::string& file, const std::exception& error) {
  const std::string said = error.what();
  return said.starts_with(file) ? said : file + ": " + said;
}

}  // namespace

void Evidence::add(Fact&& fact) {
  constexpr std::size_t kMost = 1 << 20;
  const auto [known, is_new] = known_.try_emplace(key_of(fact), facts_.size());
  if (!is_new) {
    facts_[known->second].count += fact.count;
  } else if (facts_.size() >= kMost) {
    known_.erase(known);
    left_out += fact.count;
  } else {
    facts_.push_back(std::move(fact));
  }
}

void Evidence::merge(Evidence&& other) {
  for (auto& fact : other.facts_) add(std::move(fact));
  left_out += other.left_out;
  std::move(other.dumps.begin(), other.dumps.end(), std::back_inserter(dumps));
  std::move(other.ras.begin(), other.ras.end(), std::back_inserter(ras));
  std::move(other.inspected.begin(), other.inspected.end(), std::back_inserter(inspected));
  std::move(other.files.begin(), other.files.end(), std::back_inserter(files));
  std::move(other.problems.begin(), other.problems.end(), std::back_inserter(problems));
}

Evidence read_files(const std::vector<std::string>& files, const std::function<bool()>& stop) {
  std::vector<Evidence> parts(files.size());
  std::atomic<std::size_t> next{0};
  log::on_threads(log::cpus_for(files.size()), [&](std::size_t) {
    for (std::size_t at = next++; at < files.size() && !stop(); at = next++) try {
        read_file(files[at], stop, parts[at]);
      } catch (const std::exception& error) {  // what it told until then counts
        parts[at].problems.push_back(problem_of(files[at], error));
      }
  });
  Evidence out;
  for (auto& part : parts) out.merge(std::move(part));
  if (auto fact = mixed_releases(out.facts())) out.add(std::move(*fact));
  return out;
}

}  // namespace nnd::foreign
