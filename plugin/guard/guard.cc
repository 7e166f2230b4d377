#include "guard/guard.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "diagnosis/own.h"
#include "facts/events.h"
#include "facts/refresh.h"
#include "guard/events.h"
#include "policy/judge.h"
#include "policy/lint.h"
#include "policy/locked.h"
#include "record/event.h"
#include "record/recorder.h"
#include "state/ports.h"

namespace nnd::guard {

namespace {

struct InEffect {
  policy::Policy rules;
  policy::Mode mode = policy::Mode::kWarn;
};

// Written once each and never freed: readers take no lock.
std::atomic<const InEffect*> g_in_effect{nullptr};
std::atomic<const policy::Judgement*> g_judgement{nullptr};
std::atomic<const state::Failure*> g_refusal{nullptr};
std::atomic<facts::NetworkChanges*> g_changes{nullptr};

context::ForkMutex& lock() {
  static context::Immortal<context::ForkMutex> instance;
  return *instance;
}

const InEffect& in_effect() {
  static const InEffect kBefore;
  const InEffect* now = g_in_effect.load(std::memory_order_acquire);
  return now != nullptr ? *now : kBefore;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

// As it was read first.
std::optional<policy::InForce>& found() {
  static context::Immortal<std::optional<policy::InForce>> instance;
  return *instance;
}

// Under lock().
std::string& wrapped() {
  static context::Immortal<std::string> instance;
  return *instance;
}

// The first reason stays: the others may follow from it. The number of the failure that this is; 0:
// there was one.
std::uint32_t refuse_network(diagnosis::Diagnosis why) {
  if (g_refusal.load() != nullptr) return 0;
  why.sentence = "the network is refused (mode enforce): " + why.sentence;
  const auto* const failure = new state::Failure(state::begin_failure({}, std::move(why)));
  const state::Failure* none = nullptr;
  if (g_refusal.compare_exchange_strong(none, failure)) return failure->number;
  delete failure;
  return 0;
}

// The rule that keeps a port from NCCL, with the fact that broke it; empty: it is not kept.
std::string refusal_of(const policy::Judgement& judgement, std::string_view device, unsigned port,
                       bool with_fact) {
  if (!judgement.refuses(device, port)) return {};
  for (const policy::Verdict& verdict : judgement.verdicts)
    if (verdict.about(device, port) && verdict.decision == policy::Decision::kRefuse)
      return with_fact ? verdict.rule + ": " + verdict.diagnosis.sentence : verdict.rule;
  return "denied by its name";  // NCCL would not take it as it is now
}

bool denied_by_name(std::string_view device) noexcept {
  const policy::Policy& rules = in_effect().rules;
  if (rules.hca.deny.empty() && rules.hca.allow.empty() && rules.overrides.empty()) return false;
  bool denied = true;  // also where it can't be told
  context::quietly([&] { denied = policy::denied_by_name(rules, host_name(), device); });
  return denied;
}

// plugin.load tells the one itself; the other, whatever it is, has brought this plugin.
bool told_at_load(const policy::Lint& lint) {
  return lint.variable == "NCCL_NET_PLUGIN_REF_COUNT" || lint.variable == "NCCL_NET_PLUGIN";
}

// The transport that NCCL_NET asks for is there: it is the one that is wrapped.
bool is_wrapped(const policy::Lint& lint) {
  return lint.variable == "NCCL_NET" && strcasecmp(lint.value.c_str(), wrapped().c_str()) == 0;
}

}  // namespace

config::Settings settings_in_force(config::Settings settings) {
  const std::lock_guard guard(lock());
  return found().emplace(policy::in_force(std::move(settings))).settings;
}

void start(const config::Settings& settings) {
  const std::lock_guard guard(lock());
  if (g_in_effect.load() != nullptr) return;
  if (!found()) found() = policy::in_force(settings);
  const policy::Loaded loaded = std::move(found()->loaded);
  auto* const now = new InEffect;
  now->mode = policy::effective_mode(loaded.policy, settings);
  now->rules = loaded.policy.for_host(host_name());
  g_in_effect.store(now, std::memory_order_release);
  std::uint32_t failure = 0;
  if (now->mode == policy::Mode::kEnforce && !loaded.errors.empty()) {
    diagnosis::Diagnosis wrong = diagnose(diagnosis::PolicyMistake{loaded.errors.front().text()});
    wrong.sentence = "the policy file is wrong: " + wrong.sentence;
    failure = refuse_network(std::move(wrong));
  }
  emit_loaded(loaded, now->mode, found()->ignored, failure);
}

const policy::Policy& rules() { return in_effect().rules; }
policy::Mode mode() { return in_effect().mode; }

void judge(facts::Node node, const facts::Environment& environment) {
  const std::lock_guard guard(lock());
  if (g_judgement.load() != nullptr) return;
  auto* const judgement = new policy::Judgement(
      policy::judge_node(node, in_effect().rules, in_effect().mode, host_name()));
  policy::fill_places(node, *judgement);
  // A file that is wrong or a redirection that is not in place was told when it was found.
  if (auto& refused = judgement->network_refused)
    judgement->verdicts[refused->verdict].failure = refuse_network(refused->diagnosis);
  std::vector<policy::Lint> lint = policy::lint_environment(node, environment);
  std::erase_if(lint, [](const policy::Lint& one) { return told_at_load(one) || is_wrapped(one); });
  facts::emit_facts(node, [judgement](std::string_view device, unsigned port) {
    return refusal_of(*judgement, device, port, true);
  });
  emit_verdicts(judgement->verdicts);
  emit_lint(lint, in_effect().mode);
  if (!node.sysfs.empty()) g_changes.store(new facts::NetworkChanges(node.sysfs));
  // The node first: whoever sees the judgement may ask for it.
  facts::set_current_node(std::move(node));
  g_judgement.store(judgement, std::memory_order_release);
  for (const policy::Verdict& verdict : judgement->verdicts)
    if (verdict.rail_short && verdict.diagnosis.cause == diagnosis::Cause::kDevDown)
      state::note_missing_rail(verdict.device + ":" + std::to_string(verdict.port));
}

void judge_found(const std::function<std::optional<facts::Node>()>& collect,
                 const facts::Environment& environment) noexcept {
  try {
    if (auto node = collect()) judge(std::move(*node), environment);
  } catch (const std::exception& error) {
    cannot_judge(error.what());
  } catch (...) {
    cannot_judge("an unknown error");
  }
}

void cannot_judge(const char* why) noexcept {
  static std::atomic<bool> told{false};
  context::quietly([why] {
    cannot_enforce({std::string("judging failed by itself: ") + why});
    if (mode() == policy::Mode::kEnforce || told.exchange(true)) return;
    record::Event(record::EventId::kPolicyWarn,
                  mode() == policy::Mode::kWarn ? record::Severity::kWarn : record::Severity::kInfo)
        .add("rule", "mode")
        .add("fact", why)
        .diagnose(diagnose(diagnosis::NotJudged{why}))
        .emit();
  });
}

bool network_changed() noexcept {
  facts::NetworkChanges* const changes = g_changes.load(std::memory_order_acquire);
  return changes != nullptr && changes->any();
}

bool changes_are_told() noexcept {
  const facts::NetworkChanges* const changes = g_changes.load(std::memory_order_acquire);
  return changes != nullptr && changes->are_told();
}

void rejudge_and_tell_gdr(std::string_view device, const facts::GdrState& state) {
  facts::Node node = facts::current_node();
  for (facts::Hca& hca : node.hcas)
    if (hca.name == device) hca.gdr = state;
  auto verdicts =
      policy::judge_node(node, in_effect().rules, in_effect().mode, host_name()).verdicts;
  std::erase_if(verdicts, [device](const policy::Verdict& verdict) {
    return verdict.device != device || !verdict.rule.starts_with("gdr.");
  });
  emit_verdicts(verdicts);
}

void cannot_enforce(const diagnosis::CannotEnforce& seen) {
  if (mode() != policy::Mode::kEnforce || g_refusal.load() != nullptr) return;
  const diagnosis::Diagnosis found = diagnose(seen);
  const std::uint32_t failure = refuse_network(found);
  record::Event(record::EventId::kPolicyRefuse, record::Severity::kError)
      .add("rule", "mode")
      .add("fact", seen.why)
      .diagnose(found, failure)
      .emit();
}

void set_wrapped_transport(const std::string& transport) {
  const std::lock_guard guard(lock());
  wrapped() = transport;
}

void tcp_is_wrapped() {
  static std::atomic<bool> told{false};
  if (in_effect().rules.fallback.socket != policy::Action::kDeny || told.exchange(true)) return;
  policy::Verdict verdict{"fallback.socket", diagnose(diagnosis::TcpWrapped{}),
                          policy::Action::kDeny};
  verdict.decision = policy::decide(verdict.action, mode());
  if (verdict.decision == policy::Decision::kRefuse)
    verdict.failure = refuse_network(verdict.diagnosis);
  emit_verdicts({std::move(verdict)});
}

const state::Failure* network_refusal() noexcept {
  return g_refusal.load(std::memory_order_acquire);
}

bool refuses_at_init() noexcept {
  return network_refusal() != nullptr &&
         in_effect().rules.fallback.when == policy::FallbackWhen::kInit;
}

bool may_see_device(std::string_view device) noexcept {
  const policy::Judgement* judgement = g_judgement.load(std::memory_order_acquire);
  if (judgement == nullptr || mode() != policy::Mode::kEnforce) return true;
  // Also one that came later, or that could not be opened then: names hold for all.
  if (denied_by_name(device)) return false;
  const facts::Hca* hca = facts::current_node().find(device);
  if (hca == nullptr) return true;
  // What NCCL would not take by itself needs no hiding, and is no reason to show the device.
  bool refused = false;
  for (const facts::Port& port : hca->ports) {
    const bool out = judgement->refuses(device, port.number);
    if (port.choice == facts::PortChoice::kTaken && !out) return true;
    refused = refused || out;
  }
  return !refused;
}

bool may_see_port(std::string_view device, unsigned port) noexcept {
  const policy::Judgement* judgement = g_judgement.load(std::memory_order_acquire);
  return judgement == nullptr || !judgement->refuses(device, port);
}

const diagnosis::Diagnosis* oddity_of(std::string_view device, unsigned port) noexcept {
  using nccl_net_diag::Cause;
  const policy::Judgement* judgement = g_judgement.load(std::memory_order_acquire);
  if (judgement == nullptr) return nullptr;
  for (const policy::Verdict& verdict : judgement->verdicts) {
    const Cause cause = verdict.diagnosis.cause;
    if (verdict.device == device && verdict.port == port &&
        (cause == Cause::kDevBond || cause == Cause::kDevMgmt))
      return &verdict.diagnosis;
  }
  return nullptr;
}

const diagnosis::Diagnosis* rail_short() noexcept {
  const policy::Judgement* judgement = g_judgement.load(std::memory_order_acquire);
  if (judgement == nullptr) return nullptr;
  for (const policy::Verdict& verdict : judgement->verdicts)
    if (verdict.rail_short) return &verdict.diagnosis;
  return nullptr;
}

std::string hca_summary() {
  const policy::Judgement* judgement = g_judgement.load(std::memory_order_acquire);
  return facts::hca_summary(
      facts::current_node(), [judgement](std::string_view device, unsigned port) {
        return judgement == nullptr ? std::string() : refusal_of(*judgement, device, port, false);
      });
}

double connect_deadline_sec() noexcept { return in_effect().rules.connect_deadline_sec; }

}  // namespace nnd::guard
