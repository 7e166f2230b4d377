#include "cli/report/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/common/time_text.h"
#include "cli/report/names.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

using foreign::Fact;
using foreign::What;
using report::KernelWord;
using report::Report;

namespace {

// ", anon-rss 412.30 GB" of "anon-rss:432324608kB"
std::string memory_text(const Fact& told) {
  constexpr std::string_view kWord = "anon-rss:";
  const auto at = told.text.find(kWord);
  std::int64_t kib = 0;
  if (at == std::string::npos || std::from_chars(told.text.data() + at + kWord.size(),
                                                 told.text.data() + told.text.size(), kib)
                                         .ec != std::errc())
    return {};
  return ", anon-rss " + bytes_text(static_cast<double>(kib) * 1024);
}

// " in libnccl.so.2", of "... error 4 in libnccl.so.2[7f+1]"
std::string module_text(const Fact& told) {
  const auto at = told.text.find(" in ");
  return at == std::string::npos ? "" : told.text.substr(at, told.text.find('[', at) - at);
}

std::string whose(const Report& report, const KernelWord& word) {
  if (word.member) return who(report.picture, {*word.member});
  return word.place.dev.empty() ? word.place.host : place_text(word.place);
}

std::string place_in_file(const Fact& told) { return fmt::format("{}:{}", told.file, told.line); }

}  // namespace

std::string kernel_end_text(const Fact& told) {
  if (told.what == What::kKilled)
    return fmt::format("was killed by the kernel for lack of memory ({}, pid {}{})", told.program,
                       told.pid, memory_text(told));
  return fmt::format("crashed: a segfault{} ({}, pid {})", module_text(told), told.program,
                     told.pid);
}

std::string kernel_end_remedy(const Fact& told) {
  constexpr const char* kLess =
      "let the job use less: fewer workers of data loaders, less prefetch, no checkpoints in "
      "/dev/shm.";
  if (told.what == What::kCrashed)
    return "Look at what that process printed last (PYTHONFAULTHANDLER=1), or at its core dump.";
  if (told.text.starts_with("Memory cgroup"))
    return fmt::format(
        "Raise the limit of its memory cgroup (Slurm's --mem, Kubernetes' limits.memory), or {}",
        kLess);
  return fmt::format("The node's own memory was full: look at what else ran there, or {}", kLess);
}

std::string verdict_of_kernel(const Report& report) {
  const auto& word = report.kernel[*report.ended_by_kernel];
  return fmt::format("{}: {} {} at {}.",
                     report.blame == report::Blame::kOpen ? "open" : "not the network",
                     whose(report, word), kernel_end_text(*word.told), time_text(word.at));
}

std::string kernel_sign_text(const Report& report) {
  if (!report.kernel_sign) return {};
  const auto& word = report.kernel[*report.kernel_sign];
  return fmt::format(" The kernel of {} told {} before: {}.", word.place.host,
                     seconds(std::max<report::Ns>(report.first.at - word.at, 0)),
                     shortened(word.told->text));
}

std::vector<std::string> kernel_lines(const Report& report) {
  std::vector<std::string> out;
  const auto line = [&](const KernelWord& word) {
    const bool of_nobody = !word.member && word.place.dev.empty();
    return fmt::format("{}, at {}{}: {} ({}).{}", whose(report, word), clock_text(word.at),
                       word.exact ? "" : " by its own clock", shortened(word.told->text),
                       place_in_file(*word.told),
                       of_nobody ? " Whether that was of this job, nothing here tells." : "");
  };
  const auto first = report.ended_by_kernel ? report.ended_by_kernel : report.kernel_sign;
  if (first) out.push_back(line(report.kernel[*first]));
  for (std::size_t i = 0; i < report.kernel.size(); ++i)
    if (i != first) out.push_back(line(report.kernel[i]));
  return out;
}

nlohmann::json kernel_json(const Report& report) {
  auto out = nlohmann::json::array();
  for (const auto& word : report.kernel) {
    nlohmann::json one{{"at_ns", word.at},
                       {"exact", word.exact},
                       {"text", word.told->text},
                       {"file", word.told->file},
                       {"line", word.told->line}};
    if (word.told->cause) one["cause"] = nccl_net_diag::cause_id(*word.told->cause);
    if (word.member) {
      const auto& log = *report.picture.members[*word.member].log;
      one["host"] = log.host;
      one["pid"] = log.pid;
    } else {
      one["host"] = word.place.host;
      if (!word.place.dev.empty()) one["device"] = word.place.dev;
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace nnd::cli
