#include "report/balance.h"

#include <algorithm>
#include <map>
#include <string>

#include "report/robust.h"

namespace nnd::report {

namespace {

constexpr std::size_t kFewestHosts = 4;
constexpr double kLeastBytes = 1e8;  // as the usual: less is no traffic to speak of

using Sent = std::map<std::string, double>;  // by host

// By device. An HCA that NCCL uses and that sends nothing counts, too.
std::map<std::string, Sent> sent_by_devices(const Picture& picture) {
  std::map<std::string, Sent> out;
  for (std::size_t i = 0; i < picture.members.size(); ++i) {
    const auto& process = *picture.members[i].log;
    for (const auto& [number, connection] : process.connections)
      if (connection.dir == log::Direction::kSend && connection.closed)
        out[connection.dev.name][process.host] += static_cast<double>(connection.bytes.value_or(0));
  }
  return out;
}

}  // namespace

std::vector<Unbalanced> unbalanced(const Picture& picture) {
  std::vector<Unbalanced> out;
  for (const auto& [dev, sent] : sent_by_devices(picture)) {
    if (sent.size() < kFewestHosts) continue;
    std::vector<double> values;
    for (const auto& [host, bytes] : sent) values.push_back(std::max(bytes, 1.0));
    const Usual usual = usual_of(values);
    if (usual.value() < kLeastBytes) continue;
    for (const auto& [host, bytes] : sent) {
      const double effect = usual.effect(std::max(bytes, 1.0));
      const double times = std::max(bytes, 1.0) / usual.value();
      if (std::abs(effect) < kFewestDeviations || (times < kTimesUsual && times > 1 / kTimesUsual))
        continue;
      out.push_back({{host, dev, "", 0}, bytes, usual.value(), effect, sent.size()});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Unbalanced& a, const Unbalanced& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  return out;
}

}  // namespace nnd::report
