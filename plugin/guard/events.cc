#include "guard/events.h"

#include <array>

#include "diagnosis/own.h"
#include "record/fields.h"

namespace nnd::guard {

using policy::Decision;
using policy::Lint;
using policy::LoadError;
using policy::Mode;
using policy::Verdict;
using record::Event;
using record::EventId;
using record::Severity;

void emit_loaded(const policy::Loaded& loaded, Mode mode, const std::vector<std::string>& ignored,
                 std::uint32_t failure) {
  Event event(EventId::kPolicyLoaded);
  event.add("file", loaded.policy.source).add("mode", policy::mode_text(mode));
  if (loaded.lock != policy::Lock::kNone) {
    constexpr std::array<const char*, 4> kLocks{"", "holds", "unproved", "broken"};
    event.add("locked", loaded.lock != policy::Lock::kBroken)
        .add("lock", kLocks[static_cast<std::size_t>(loaded.lock)])
        .array("ignored");
    for (const std::string& variable : ignored) event.push(variable);
    event.end();
  }
  event.emit();
  for (const LoadError& error : loaded.errors) {
    Event(EventId::kPolicyLoaded, mode == Mode::kEnforce ? Severity::kError : Severity::kWarn)
        .add("file", error.file)
        .add("mode", policy::mode_text(mode))
        .diagnose(diagnose(diagnosis::PolicyMistake{error.text()}), failure)
        .emit();
    failure = 0;
  }
}

void emit_verdicts(const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    const bool refuse = verdict.decision == Decision::kRefuse;
    const Severity severity = refuse                                ? Severity::kError
                              : verdict.decision == Decision::kWarn ? Severity::kWarn
                                                                    : Severity::kInfo;
    Event event(refuse ? EventId::kPolicyRefuse : EventId::kPolicyWarn, severity);
    if (!verdict.device.empty()) add_device(event, {.name = verdict.device, .port = verdict.port});
    event.add("rule", verdict.rule).add("fact", verdict.diagnosis.sentence);
    event.array("remaining");
    for (const std::string& port : verdict.remaining) event.push(port);
    event.end().diagnose(verdict.diagnosis, verdict.failure).emit();
  }
}

void emit_lint(const std::vector<Lint>& lint, Mode mode) {
  const Severity severity = mode == Mode::kObserve ? Severity::kInfo : Severity::kWarn;
  for (const Lint& one : lint)
    Event(EventId::kEnvLint, severity)
        .add("variable", one.variable)
        .add("value", one.value)
        .diagnose(one.diagnosis)
        .emit();
}

}  // namespace nnd::guard
