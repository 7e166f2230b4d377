#include "diagnosis/diagnosis.h"

#include <system_error>
#include <utility>

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis {

Diagnosis by_default(Cause cause, std::string sentence) {
  return {cause, std::move(sentence), remedy_of(cause)};
}

Diagnosis by_evidence(Cause cause, std::string evidence) {
  return {cause, {}, remedy_of(cause), std::move(evidence)};
}

std::string remedy_of(Cause cause) { return std::string(explain(cause).remedy); }

Diagnosis ask_the_driver(Cause cause, std::string sentence) {
  return {cause, std::move(sentence), remedy_of(Cause::kVerbsErrno)};
}

std::string text(const Diagnosis& diagnosis) {
  std::string out(nccl_net_diag::cause_id(diagnosis.cause));
  out += ": " + diagnosis.sentence;
  if (diagnosis.remedy.empty()) return out;
  if (out.back() != '.') out += '.';
  return out + ' ' + diagnosis.remedy;
}

std::string errno_text(int error) {
  return std::to_string(error) + " (" + std::generic_category().message(error) + ")";
}

}  // namespace nnd::diagnosis
