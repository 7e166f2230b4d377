#include "report/kernel.h"

#include <algorithm>
#include <array>

#include "report/kernel_match.h"
#include "report/report.h"

namespace nnd::report {

using foreign::Fact;
using foreign::What;
using nccl_net_diag::Cause;

namespace {

constexpr Ns kSecond = 1'000'000'000;

bool is_end(const Fact& fact) { return fact.what == What::kKilled || fact.what == What::kCrashed; }

class Listen {
 public:
  Listen(const Picture& picture, const foreign::Evidence& evidence)
      : picture_(picture), evidence_(evidence), hosts_(names_of(picture), evidence) {}

  std::vector<KernelWord> words() const {
    std::vector<KernelWord> out;
    for (const auto& fact : evidence_.facts()) {
      if (fact.source != foreign::Source::kKernelLog) continue;
      const auto& name = hosts_.of(fact);
      const auto host = std::find_if(picture_.hosts.begin(), picture_.hosts.end(),
                                     [&](const Host& one) { return one.name == name; });
      if (name.empty() || host == picture_.hosts.end()) continue;
      if (auto word = word_of(fact, *host)) out.push_back(std::move(*word));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const KernelWord& a, const KernelWord& b) { return a.at < b.at; });
    return out;
  }

 private:
  static std::set<std::string> names_of(const Picture& picture) {
    std::set<std::string> out;
    for (const auto& host : picture.hosts) out.insert(host.name);
    return out;
  }

  // Nearest to `near`. The kernel's own clock is CLOCK_MONOTONIC's, but nothing corrects its pace.
  bool set_time(KernelWord& word, const Host& host, Ns near) const {
    const Fact& fact = *word.told;
    if (fact.up_sec > 0) {
      const auto up = static_cast<std::uint64_t>(fact.up_sec * 1e9);
      word.at = picture_.at(host.members.front(), up);
      return true;
    }
    if (fact.at_sec == 0) return false;
    const auto near_sec = (near + host.ahead) / kSecond;
    word.at = nearest_sec(fact, near_sec, true) * kSecond - host.ahead;
    word.exact = fact.utc;
    return true;
  }
  Ns off(const Fact& fact) const {
    constexpr double kDrift = 1e-4;
    return 2 * kSecond + static_cast<Ns>(fact.up_sec * kDrift * 1e9);
  }

  std::optional<KernelWord> word_of(const Fact& fact, const Host& host) const {
    constexpr Ns kAfter = 600 * kSecond;  // what comes later is not of the job
    KernelWord out;
    out.told = &fact;
    if (fact.pid > 0)
      for (const auto member : host.members)
        if (picture_.members[member].log->pid == fact.pid) out.member = member;
    if (out.member) {
      const Member& one = picture_.members[*out.member];
      if (!set_time(out, host, one.last)) return {};
      // Its number may have been another process's, before or since.
      if (out.at + off(fact) < one.first || out.at > picture_.last + kAfter) return {};
      if (is_end(fact) && !can_be_its_end(one, out.at, off(fact))) return {};
      return out;
    }
    if (fact.what == What::kSign ? !set_place(out, host) : fact.what == What::kHung) return {};
    out.place.host = host.name;
    if (!set_time(out, host, picture_.last)) return {};
    if (out.at + off(fact) < picture_.first || out.at > picture_.last + off(fact)) return {};
    return out;
  }

  // It was not there any more, and lived to then.
  static bool can_be_its_end(const Member& member, Ns at, Ns off) {
    constexpr Ns kWithin = kSecond;
    if (member.ending == Ending::kClean || member.ending == Ending::kRunning) return false;
    if (at + off + kWithin < member.last) return false;
    return member.ending != Ending::kDied || at - off - 60 * kSecond < member.last;
  }

  bool set_place(KernelWord& out, const Host& host) const {
    const Fact& fact = *out.told;
    for (const auto member : host.members)
      for (const auto& hca : picture_.members[member].log->hcas) {
        const bool by_pci = !fact.pci.empty() && hca.dev.pci == fact.pci;
        const bool by_netdev = !fact.netdev.empty() && hca.dev.netdev == fact.netdev;
        if (!by_pci && !by_netdev) continue;
        out.place = picture_.place_of(member, hca.dev);
        return true;
      }
    return false;
  }

  const Picture& picture_;
  const foreign::Evidence& evidence_;
  KernelHosts hosts_;
};

// Whether what failed first can follow from the end of this process: it failed towards it, or only
// echoes something, and not before that.
bool explains_failures(const Report& report, const KernelWord& word) {
  return std::all_of(
      report.first.roots.begin(), report.first.roots.end(), [&](const Failure& root) {
        if (root.at + 2 * kSecond < word.at || root.member == *word.member) return false;
        return root.reach == Reach::kEcho || (root.peer == word.member && can_follow_a_death(root));
      });
}

// Waits that began by then; a node that runs out of memory is slow for a while before.
bool explains_waits(const Report& report, const KernelWord& word) {
  if (!report.waits.network.empty() || report.waits.sinks.empty()) return false;
  const Sink& sink = report.waits.sinks.front();
  const bool its_own =
      std::find(sink.members.begin(), sink.members.end(), *word.member) != sink.members.end();
  return word.at <= sink.late_since() + (its_own ? 60 : 2) * kSecond;
}

bool explains(const Report& report, const KernelWord& word) {
  switch (report.kind) {
    case Kind::kFailed:
      return explains_failures(report, word);
    case Kind::kHang:
      return explains_waits(report, word);
    case Kind::kLost: {
      const auto& losses = report.first.losses;
      return word.at <= report.first.at + 2 * kSecond ||
             std::any_of(losses.begin(), losses.end(),
                         [&](const Loss& loss) { return loss.member == *word.member; });
    }
    case Kind::kEnded:
    case Kind::kRunning:
    case Kind::kStarting:
      return true;
    default:
      return false;
  }
}

bool is_of(const Place& place, const Place& end) {
  return !place.dev.empty() && place.host == end.host && place.dev == end.dev;
}

bool can_follow(const KernelWord& word, const Failure& root) {
  if (word.told->cause != Cause::kGdrAcs) return can_follow_a_death(root);
  const auto cause = nccl_net_diag::find_cause(root.told->cause);
  return cause && may_be_refused_memory(*cause);
}

// A port, or an HCA, at either end of what failed then; links may be lost for seconds before.
bool is_sign_of(const KernelWord& word, const Failure& root) {
  constexpr Ns kSoon = 120 * kSecond;
  return can_follow(word, root) && root.reach != Reach::kEcho &&
         (is_of(word.place, root.here) || is_of(word.place, root.there)) &&
         word.at <= root.at + 2 * kSecond && word.at + kSoon >= root.at;
}

// The last one before what failed first.
std::optional<std::size_t> sign_of(const Report& report) {
  std::optional<std::size_t> out;
  if (report.kind != Kind::kFailed) return out;
  for (std::size_t i = 0; i < report.kernel.size(); ++i)
    for (const auto& root : report.first.roots)
      if (is_sign_of(report.kernel[i], root)) out = i;
  return out;
}

// Of nobody that is known: a GPU, where the job did not go well, and the end of a process where one
// of the job's ended then. In a container processes have other numbers, and a thread that crashes
// is told by its own.
bool may_matter(const Report& report, const KernelWord& word) {
  constexpr Ns kThen = 10 * kSecond;
  if (word.member || !word.place.dev.empty()) return true;
  if (!word.exact) return false;
  if (word.told->what == What::kGpu) return report.kind != Kind::kHealthy;
  return std::any_of(report.first.losses.begin(), report.first.losses.end(), [&](const Loss& loss) {
    return !loss.clean && report.picture.host_of(loss.member).name == word.place.host &&
           word.at + kThen >= loss.at && word.at <= loss.at + kThen;
  });
}

}  // namespace

std::vector<KernelWord> kernel_of(const Picture& picture, const foreign::Evidence& evidence) {
  return Listen(picture, evidence).words();
}

bool may_be_refused_memory(Cause cause) {
  constexpr std::array kRefused{Cause::kWc2,  Cause::kWc4,  Cause::kWc8,
                                Cause::kWc10, Cause::kWc11, Cause::kWc12};
  return std::find(kRefused.begin(), kRefused.end(), cause) != kRefused.end();
}

bool is_crash_below(const Fact& told) {
  constexpr std::array kBelow{" in libnccl", " in libibverbs", " in libmlx5", " in libbnxt_re",
                              " in libirdma"};
  return told.what == What::kCrashed &&
         std::any_of(kBelow.begin(), kBelow.end(),
                     [&](const char* name) { return told.text.find(name) != std::string::npos; });
}

void hear_kernel(Report& report, const foreign::Evidence& evidence) {
  report.kernel = kernel_of(report.picture, evidence);
  std::erase_if(report.kernel, [&](const auto& word) { return !may_matter(report, word); });
  const auto word =
      std::find_if(report.kernel.begin(), report.kernel.end(),
                   [](const KernelWord& one) { return one.member && is_end(*one.told); });
  if (word == report.kernel.end() || !explains(report, *word)) {
    report.kernel_sign = sign_of(report);
    if (report.kernel_sign && report.kernel[*report.kernel_sign].exact)
      report.blame = Blame::kNetwork;
    return;
  }
  report.ended_by_kernel = static_cast<std::size_t>(word - report.kernel.begin());
  report.kind = Kind::kLost;
  report.blame = is_crash_below(*word->told) ? Blame::kOpen : Blame::kNotNetwork;
  auto& first = report.first;
  for (auto* all : {&first.roots, &first.other}) {
    first.followed.insert(first.followed.end(), all->begin(), all->end());
    all->clear();
  }
  first.losses = {{*word->member, word->at, false}};
  first.at = word->at;
  report.culprits.clear();
  report.difference.reset();
  report.rails.reset();
}

}  // namespace nnd::report
