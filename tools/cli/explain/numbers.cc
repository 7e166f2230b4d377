#include "cli/explain/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "cli/explain/letters.h"
#include "diagnosis/completion_status.h"
#include "softverbs/words.h"

namespace nnd::cli {

using nccl_net_diag::Cause;
using nccl_net_diag::find_cause;

namespace {

// ncclResult_t (nccl.h), from 1 on.
constexpr std::array<std::string_view, 7> kResults{
    "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalidArgument",
    "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};

// What an errno comes from beside the verbs whose causes are named after it.
const std::map<int, std::vector<Cause>>& related_to_errno() {
  static const std::map<int, std::vector<Cause>> table{
      {EPERM, {Cause::kLimUverbs}},
      {ENOENT, {Cause::kLimUverbs, Cause::kGidCont}},
      {EACCES, {Cause::kLimUverbs}},
      {EAGAIN, {Cause::kLimMemlock}},
      {ENOMEM, {Cause::kLimMemlock, Cause::kLimMemlock2}},
      {EFAULT, {Cause::kGdrRegFail}},
      {ENODEV, {Cause::kGidCont, Cause::kDevUnusable}},
      {EINVAL, {Cause::kGidWrong, Cause::kGidDiff, Cause::kGidCont}},
      {EMFILE, {Cause::kLimNoFile}},
      {ENFILE, {Cause::kLimNoFile}},
      {ENODATA, {Cause::kGidWrong, Cause::kGidChange}},
      {EOPNOTSUPP, {Cause::kGdrRegFail, Cause::kGdrNoMod}},
      {ENETUNREACH, {Cause::kSubRail, Cause::kDevOob}},
      {ECONNABORTED, {Cause::kDevOob}},
      {ECONNRESET, {Cause::kRc6, Cause::kDevOob}},
      {ETIMEDOUT, {Cause::kSubRail, Cause::kGidLinkLocal, Cause::kDevOob}},
      {ECONNREFUSED, {Cause::kDevOob}},
      {EHOSTUNREACH, {Cause::kSubRail, Cause::kDevOob}}};
  return table;
}

void add_if_there(std::vector<Cause>& to, const std::string& id) {
  if (const auto cause = find_cause(id)) to.push_back(*cause);
}

std::vector<Meaning> errno_meanings(int number) {
  const char* const name = strerrorname_np(number);
  if (number <= 0 || name == nullptr) return {};
  Meaning out{fmt::format("errno {} ({}, {})", number, name, strerrordesc_np(number)), {}, {}};
  for (const char* const of : {"QP", "MR", "CQ"})
    add_if_there(out.own, fmt::format("{}-{}", of, number));
  if (const auto found = related_to_errno().find(number); found != related_to_errno().end())
    out.related = found->second;
  if (out.own.empty())
    for (const auto cause : {Cause::kQpErrno, Cause::kMrErrno, Cause::kVerbsErrno})
      out.related.push_back(cause);
  return {out};
}

std::vector<Meaning> status_meanings(int number) {
  if (number <= 0 || number >= static_cast<int>(diagnosis::completion_statuses().size())) return {};
  Meaning out{fmt::format("status {} of a completion (IBV_WC_{})", number,
                          diagnosis::completion_status_name(number)),
              {},
              {}};
  add_if_there(out.own, fmt::format("WC-{}", number));
  if (out.own.empty()) out.related.push_back(Cause::kWcStatus);
  return {out};
}

std::vector<Meaning> result_meanings(int number) {
  if (number <= 0 || number > static_cast<int>(kResults.size())) return {};
  Meaning out{
      fmt::format("NCCL's result {} ({})", number, kResults[static_cast<std::size_t>(number) - 1]),
      {},
      {}};
  add_if_there(out.own, fmt::format("RC-{}", number));
  if (out.own.empty()) out.related.push_back(Cause::kRcOther);
  return {out};
}

void append(std::vector<Meaning>& to, std::vector<Meaning> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

constexpr std::string_view kVerbsPrefix = "ibv_wc_";

}  // namespace

std::vector<Meaning> meanings_of(int number, NumberOf of) {
  std::vector<Meaning> out;
  const auto any = of == NumberOf::kAny;
  if (any || of == NumberOf::kStatus) append(out, status_meanings(number));
  if (any || of == NumberOf::kErrno) append(out, errno_meanings(number));
  if (any || of == NumberOf::kResult) append(out, result_meanings(number));
  return out;
}

std::vector<Meaning> meanings_of(std::string_view name) {
  std::string wanted = lower(name);
  for (const auto& [word, number] : softverbs::errno_words())
    if (lower(word) == wanted) return errno_meanings(number);
  for (std::size_t i = 0; i < kResults.size(); ++i)
    if (lower(kResults[i]) == wanted) return result_meanings(static_cast<int>(i) + 1);
  if (wanted.starts_with(kVerbsPrefix)) wanted.erase(0, kVerbsPrefix.size());
  const auto statuses = diagnosis::completion_statuses();
  for (std::size_t i = 0; i < statuses.size(); ++i)
    if (lower(statuses[i]) == wanted) return status_meanings(static_cast<int>(i));
  return {};
}

std::vector<Meaning> meanings_within(std::string_view lower_case_line) {
  std::vector<Meaning> out;
  for (const auto& [word, number] : softverbs::errno_words())
    if (const char* const text = strerrordesc_np(number);
        text != nullptr && holds_words(lower_case_line, lower(text)))
      append(out, errno_meanings(number));
  return out;
}

const std::vector<std::string>& number_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out(kResults.begin(), kResults.end());
    for (const auto& [word, number] : softverbs::errno_words()) out.push_back(word);
    const auto failures = diagnosis::completion_statuses().subspan(1);
    out.insert(out.end(), failures.begin(), failures.end());
    return out;
  }();
  return names;
}

}  // namespace nnd::cli
