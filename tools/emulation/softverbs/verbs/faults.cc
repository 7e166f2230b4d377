#include "softverbs/verbs/faults.h"

#include <algorithm>
#include <utility>

namespace softverbs {

namespace {

using Time = std::chrono::system_clock;

bool matches_name(const std::string& wanted, std::string_view given) {
  return wanted.empty() || wanted == given;
}

}  // namespace

Faults::Faults(const Scenario& scenario, Time::time_point fabric_start,
               std::function<void(const Fault&, bool)> trigger, std::function<void()> met)
    : trigger_(std::move(trigger)), met_(std::move(met)) {
  for (const Fault& fault : scenario.faults) {
    Counted counted;
    counted.fault = &fault;
    fails_posts_ |= fault.kind == FaultKind::kFailCall && fault.verb.starts_with("ibv_post_");
    if (fault.at_ms >= 0) {
      counted.begin = fabric_start + std::chrono::milliseconds(fault.at_ms);
      if (fault.up_after_ms >= 0)
        counted.end = counted.begin + std::chrono::milliseconds(fault.up_after_ms);
    }
    counted_.push_back(counted);
  }
}

bool Faults::matches(const Fault& fault, const Endpoint& local) {
  return matches_name(fault.host, local.host->name) && matches_name(fault.hca, local.hca->name) &&
         (fault.port == 0 || fault.port == local.port->number);
}

bool Faults::hit(Counted& counted) {
  const Fault& fault = *counted.fault;
  const std::uint64_t n = ++counted.count;
  const bool hit = n >= fault.nth && (fault.times == 0 || n < fault.nth + fault.times);
  if (hit && !std::exchange(counted.begun, true)) met_();
  return hit;
}

std::optional<Refusal> Faults::call(std::string_view verb, std::string_view host,
                                    std::string_view hca) {
  const std::scoped_lock lock(mutex_);
  for (Counted& counted : counted_) {
    const Fault& fault = *counted.fault;
    if (fault.kind != FaultKind::kFailCall || fault.verb != verb) continue;
    if (!matches_name(fault.host, host) || !matches_name(fault.hca, hca)) continue;
    if (hit(counted)) return Refusal{fault.error, fault.delay_ms};
  }
  return std::nullopt;
}

std::optional<Refusal> Faults::to_rtr(const Endpoint& local, const Endpoint& peer) {
  const std::scoped_lock lock(mutex_);
  for (Counted& counted : counted_) {
    const Fault& fault = *counted.fault;
    if (fault.kind != FaultKind::kRefuseRtr || !matches(fault, local)) continue;
    if (!fault.peer_hca.empty() && (!peer || peer.hca->name != fault.peer_hca)) continue;
    if (hit(counted)) return Refusal{fault.error, fault.delay_ms};
  }
  return std::nullopt;
}

std::optional<Injected> Faults::work_request(const Endpoint& local, bool read) {
  std::optional<Injected> injected;
  std::vector<Counted*> due;
  {
    const std::scoped_lock lock(mutex_);
    for (Counted& counted : counted_) {
      const Fault& fault = *counted.fault;
      if (fault.kind == FaultKind::kFailWr) {
        if (!injected && matches(fault, local) && hit(counted))
          injected = Injected{fault.status, fault.vendor_err, 0};
      } else if (fault.kind == FaultKind::kHoldWr) {
        if (!injected && (read || !fault.reads) && matches(fault, local) && hit(counted))
          injected = Injected{0, 0, fault.delay_ms};
      } else if (fault.after_messages > 0 && !counted.begun &&
                 (fault.kind == FaultKind::kLosePeer || matches(fault, local)) &&
                 ++counted.count > fault.after_messages) {
        due.push_back(&counted);
      }
    }
  }
  for (Counted* counted : due) fire(*counted, true);
  return injected;
}

bool Faults::gid_gone(std::string_view host, std::string_view hca, int index) const {
  const std::scoped_lock lock(mutex_);
  return std::any_of(counted_.begin(), counted_.end(), [&](const Counted& counted) {
    const Fault& fault = *counted.fault;
    return counted.begun && fault.empties_gid == index && index >= 0 &&
           matches_name(fault.host, host) && matches_name(fault.hca, hca);
  });
}

void Faults::fire(Counted& counted, bool begins) {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(counted.begun, true)) met_();
    if (!begins)
      counted.over = true;
    else if (counted.fault->up_after_ms >= 0)
      counted.end = Time::now() + std::chrono::milliseconds(counted.fault->up_after_ms);
  }
  trigger_(*counted.fault, begins);
}

int Faults::next_ms() const {
  const std::scoped_lock lock(mutex_);
  auto next = Time::time_point::max();
  for (const Counted& counted : counted_) {
    if (!counted.begun) next = std::min(next, counted.begin);
    if (counted.begun && !counted.over) next = std::min(next, counted.end);
  }
  if (next == Time::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Time::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60000));
}

void Faults::keep_times() {
  const auto now = Time::now();
  for (Counted& counted : counted_) {
    if (!counted.begun && now >= counted.begin) fire(counted, true);
    if (counted.begun && !counted.over && now >= counted.end) fire(counted, false);
  }
}

}  // namespace softverbs
