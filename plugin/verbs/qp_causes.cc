#include "verbs/qp_causes.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "context/errno_text.h"
#include "facts/node.h"
#include "nccl_abi/releases.h"
#include "verbs/fields.h"
#include "verbs/gid.h"
#include "verbs/names.h"

namespace nnd::verbs {
namespace {

std::atomic<int> g_nccl_version{0};

// A failed call of ibv_modify_qp is repeated on ETIMEDOUT only, by default 34 times with growing
// sleeps (v2.24.3-1 src/misc/ibvwrap.cc).
bool repeats(int error) noexcept {
  const int version = g_nccl_version.load(std::memory_order_relaxed);
  if (!nccl_abi::kRetriesModifyQp.has(version)) return false;
  const char* all = std::getenv("NCCL_IB_MQP_RETRY_ALL");
  return error == ETIMEDOUT || (all != nullptr && std::strcmp(all, "0") != 0);
}

long repetitions() noexcept {
  const char* count = std::getenv("NCCL_IB_MQP_RETRY_CNT");
  return count == nullptr || *count == '\0' ? 34 : std::strtol(count, nullptr, 0);
}

std::string what_nccl_does(int error) {
  if (!repeats(error) || repetitions() <= 0) return "NCCL gives up now";
  const int version = g_nccl_version.load(std::memory_order_relaxed);
  const bool usual = repetitions() == 34 && std::getenv("NCCL_IB_MQP_RETRY_SLEEP_MSEC") == nullptr;
  const std::string next = "NCCL will try again " + std::to_string(repetitions()) + " times" +
                           (usual ? ", which takes a minute or more" : "");
  return version == 0 ? next + " (versions before 2.24 give up now)" : next;
}

std::string place(const state::QpInfo& qp) {
  return qp.device + (qp.port == 0 ? "" : ":" + std::to_string(qp.port));
}

std::string side(const context::Gid& gid) {
  return context::gid_zero(gid) ? "" : " " + address_text(gid);
}

struct Remedy {
  const char* cause;
  const char* fix;
};

Remedy remedy_rtr(int error) {
  switch (error) {
    case ETIMEDOUT:
      return {
          "QP-110",
          "The kernel could not resolve the remote GID's address. Check that the remote address "
          "answers from this HCA's interface (ping -I <netdev> <remote address>): VLAN, "
          "firewall, a port that is down on the far side. Where rails aren't connected to each "
          "other, set NCCL_CROSS_NIC=0 and use the same HCAs on every node."};
    case EINVAL:
      return {"QP-22",
              "An attribute doesn't fit the port: most often a GID index forced by "
              "NCCL_IB_GID_INDEX. Unset it (NCCL 2.21 and newer choose well), and compare the GID "
              "families and MTU of both ends."};
    case ENODEV:
      return {"QP-19",
              "The network interface behind this GID is gone or in another network namespace. Give "
              "the container the interface (RDMA network attachment or host networking), or "
              "exclude this HCA with NCCL_IB_HCA."};
    case ENODATA:
      return {"QP-61",
              "The GID table slot is empty now: the interface lost or changed its address. Unset "
              "NCCL_IB_GID_INDEX, and find what re-configures the interface (DHCP, "
              "NetworkManager)."};
    case ENETUNREACH:
      return {"QP-101",
              "There is no route from this HCA's interface to the remote GID. Add the route, or "
              "keep NCCL on one rail: NCCL_CROSS_NIC=0 and the same HCAs on every node."};
    case EHOSTUNREACH:
      return {"QP-113",
              "The remote GID can't be reached from this HCA's interface. Check route and "
              "neighbour entry, or keep NCCL on one rail: NCCL_CROSS_NIC=0 and the same HCAs on "
              "every node."};
    default:
      return {nullptr, "Look in the kernel's log (dmesg) of this node for the driver's reason."};
  }
}

Remedy remedy_common(int error) {
  switch (error) {
    case ENOMEM:
      return {"QP-12",
              "Raise the locked memory limit (ulimit -l unlimited, LimitMEMLOCK=infinity for the "
              "daemon that starts the job), or use fewer QPs."};
    case EPERM:
      return {"QP-1", "Check capabilities and the container's device rules for /dev/infiniband."};
    case EACCES:
      return {"QP-13", "Check SELinux and the container's device rules for /dev/infiniband."};
    default:
      return {nullptr, nullptr};
  }
}

bool about_reach(int error) {
  return error == ETIMEDOUT || error == ENETUNREACH || error == EHOSTUNREACH;
}

// What is known of the two ends beyond the errno.
void judge_ends(const state::QpInfo& qp, const FailedMove& move, Blame& blame) {
  using facts::Reach;
  const Reach reach = move.ends.reach;
  if (move.to != IBV_QPS_RTR || !(about_reach(move.error) || move.error == EINVAL)) return;
  if (reach != Reach::kUnknown) blame.msg += "; " + move.ends.why;
  const bool families = reach == Reach::kUnknown && !context::gid_zero(qp.local_gid) &&
                        !context::gid_zero(qp.remote_gid) &&
                        context::gid_ipv4(qp.local_gid) != context::gid_ipv4(qp.remote_gid);
  if (families) blame.msg += "; the two GIDs are of different address families";
  if (families || reach == Reach::kDifferentFamily) {
    blame.cause = "GID-DIFF";
    blame.fix =
        "One node chose an IPv4 GID, the other an IPv6 or link-local one. Give every HCA an "
        "address of the same family, and unset NCCL_IB_GID_INDEX.";
  } else if (about_reach(move.error) && (reach == Reach::kNoRoute || reach == Reach::kRouted)) {
    blame.cause = "SUB-RAIL";
    blame.fix =
        reach == Reach::kNoRoute
            ? "NCCL is crossing rails. Set NCCL_CROSS_NIC=0 and use the same HCAs and the same "
              "number of GPUs on every node, or route between these subnets."
            : "The two ends are in different subnets and the route between them leads nowhere. "
              "Repair it, or keep NCCL on one rail: NCCL_CROSS_NIC=0, the same HCAs and the same "
              "number of GPUs on every node.";
  } else if (about_reach(move.error) && reach == Reach::kLocal) {
    blame.cause = "SUB-INTRA";
    blame.fix =
        "NCCL goes through the network within one node and its HCAs can't reach each other. Let "
        "GPUs talk directly (P2P, shared memory), or set NCCL_NET_DISABLE_INTRA=1.";
  } else if (reach == Reach::kUnknown && !context::gid_zero(qp.local_gid) &&
             context::gid_link_local(qp.local_gid) && about_reach(move.error) &&
             qp.gid_index >= 0) {
    blame.msg += "; the local GID is link-local, which reaches the own Ethernet segment only";
  }
}

}  // namespace

void set_nccl_version(int version) noexcept {
  g_nccl_version.store(version, std::memory_order_relaxed);
}

bool is_last_attempt(int error, unsigned attempt) noexcept {
  return !repeats(error) || static_cast<long>(attempt) > repetitions();
}

Blame blame_move(const state::QpInfo& qp, const FailedMove& move) {
  Blame blame;
  const Remedy common = remedy_common(move.error);
  const Remedy own =
      move.to == IBV_QPS_RTR ? remedy_rtr(move.error) : Remedy{nullptr, remedy_rtr(0).fix};
  const Remedy& chosen = common.cause != nullptr ? common : own;
  blame.cause = chosen.cause != nullptr ? chosen.cause : "QP-" + std::to_string(move.error);
  blame.fix = chosen.fix;
  blame.msg = place(qp) + side(qp.local_gid) + ": QP " + std::to_string(qp.num) +
              " could not go from " + std::string(state_name(move.from)) + " to " +
              std::string(state_name(move.to));
  if (!context::gid_zero(qp.remote_gid)) blame.msg += " towards" + side(qp.remote_gid);
  blame.msg += ": errno " + context::errno_text(move.error) + " after " +
               std::to_string(move.dur_us / 1000) + " ms, attempt " + std::to_string(move.attempt);
  judge_ends(qp, move, blame);
  blame.msg += ". " + what_nccl_does(move.error) + ".";
  return blame;
}

Blame blame_create(const std::string& device, int error) {
  const Remedy common = remedy_common(error);
  Blame blame;
  if (error == ENOMEM)
    blame.cause =
        std::string(nccl_net_diag::cause_id(diagnosis::out_of_memory(facts::locked_memory())));
  else
    blame.cause = common.cause != nullptr ? common.cause : "QP-" + std::to_string(error);
  blame.fix = common.fix != nullptr ? common.fix : remedy_rtr(0).fix;
  blame.msg = device + ": a QP could not be created: errno " + context::errno_text(error) + ".";
  return blame;
}

}  // namespace nnd::verbs
