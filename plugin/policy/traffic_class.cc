#include "policy/traffic_class.h"

#include "diagnosis/environment.h"
#include "facts/nccl_devices.h"

namespace nnd::policy {

namespace {

bool any_roce(const facts::Node& node, const Judgement& judgement) {
  for (const facts::Hca& hca : node.hcas)
    for (const facts::Port& port : hca.ports)
      if (port.choice == facts::PortChoice::kTaken && port.ethernet() &&
          !judgement.refuses(hca.name, port.number))
        return true;
  return false;
}

}  // namespace

void judge_traffic_class(const facts::Node& node, const Policy& policy,
                         const facts::Environment& environment, Judgement& judgement) {
  const long wanted = policy.roce.traffic_class;
  if (wanted < 0 || !any_roce(node, judgement)) return;
  const facts::NcclQp qp = facts::nccl_qp(environment, node.nccl_version);
  const bool data = qp.traffic_class != wanted;
  if (!data && qp.receiver_traffic_class == wanted) return;
  const diagnosis::TrafficClassAsked seen{data ? "NCCL_IB_TC" : "NCCL_IB_FIFO_TC",
                                          data ? qp.traffic_class : qp.receiver_traffic_class,
                                          static_cast<int>(wanted)};
  Verdict verdict{"roce.traffic_class", diagnose(seen), Action::kDeny};
  verdict.decision = decide(verdict.action, judgement.mode);
  verdict.remaining = judgement.remaining;
  if (verdict.decision == Decision::kRefuse && !judgement.network_refused)
    judgement.network_refused = {verdict.diagnosis, judgement.verdicts.size()};
  judgement.verdicts.push_back(std::move(verdict));
}

}  // namespace nnd::policy
