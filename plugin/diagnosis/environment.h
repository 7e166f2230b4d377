// Mistakes in NCCL's variables.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

// --- NCCL_IB_HCA: one entry of the list

struct HcaEntryFault {
  enum class Kind : std::uint8_t { kSigns, kSpace, kMatchesNothing, kNoSuchPort, kMatchesMore };
  Kind kind = Kind::kMatchesNothing;
  std::string entry;
  // kMatchesMore: HCAs that it matches besides its own name. kNoSuchPort: the ports that there are.
  std::vector<std::string> more = {};
  // kSigns, kMatchesMore: the settings that say what was meant, one to use some HCAs or one to
  // leave some out, or both.
  std::vector<std::string> meant = {};
  std::vector<std::string> here = {};  // the HCAs of this node
};
Diagnosis diagnose(const HcaEntryFault& seen);

// --- NCCL_IB_GID_INDEX

struct BadGidIndex {
  std::string ports;   // "mlx5_0:1, mlx5_1:1"
  bool unfit = false;  // link-local or RoCE v1, and a better one elsewhere; else empty
};
Diagnosis diagnose(const BadGidIndex& seen);

// --- retransmission: NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT

struct RetransmitFault {
  enum class Kind : std::uint8_t { kRetryField, kTimeoutField, kForEver, kShort };
  Kind kind = Kind::kShort;
  long value = 0;      // of a field that is too small for it
  double seconds = 0;  // kShort: how long it lasts
};
Diagnosis diagnose(const RetransmitFault& seen);

// --- NCCL_IB_MQP_RETRY_*

struct LongQpRetries {
  bool all = false;  // NCCL_IB_MQP_RETRY_ALL
  double seconds = 0;
};
Diagnosis diagnose(const LongQpRetries& seen);

// --- NCCL_SOCKET_IFNAME

struct SocketInterface {
  enum class Kind : std::uint8_t { kNoneHere, kForContainers, kPickedForContainers };
  Kind kind = Kind::kNoneHere;
  std::string netdev = {};
  std::string address = {};
};
Diagnosis diagnose(const SocketInterface& seen);

// --- a value that NCCL reads otherwise than it is written, or not at all

struct UnreadValue {
  enum class Kind : std::uint8_t {
    kNoNumber,    // of a variable that has to be one
    kCut,         // too large for the field that it goes to
    kNoWord,      // none of those that there are
    kNothingLeft  // 0, where one is needed
  };
  Kind kind = Kind::kNoNumber;
  std::string name, value;
  std::string read_as = {};  // kNoNumber: "0"; empty: as if it were unset. kCut: what is left
  std::string words = {};    // kNoWord: "AF_INET, AF_INET6"; kCut: "0 to 255"
};
Diagnosis diagnose(const UnreadValue& seen);

// --- NCCL_IB_TC against the policy

struct TrafficClassAsked {
  std::string variable;  // that decides: NCCL_IB_TC, NCCL_IB_FIFO_TC
  int asked = 0;
  int wanted = 0;
};
Diagnosis diagnose(const TrafficClassAsked& seen);

// --- another transport than NCCL's own, by name

struct OtherTransport {
  enum class Kind : std::uint8_t { kNet, kPlugin };  // NCCL_NET, NCCL_NET_PLUGIN
  Kind kind = Kind::kNet;
  std::string name;
  std::size_t hcas = 0;
};
Diagnosis diagnose(const OtherTransport& seen);

// --- what was set once and stayed

struct RdmaTurnedOff {  // NCCL_IB_DISABLE, NCCL_NET=Socket
  std::size_t hcas = 0;
};
Diagnosis diagnose(const RdmaTurnedOff& seen);

// NCCL reads nothing back before it tells the GPU that data is there.
struct FlushTurnedOff {};
Diagnosis diagnose(const FlushTurnedOff& seen);

struct GpuDirectTurnedOff {  // NCCL_NET_GDR_LEVEL, NCCL_DMABUF_ENABLE
  bool dmabuf = false;       // the latter
};
Diagnosis diagnose(const GpuDirectTurnedOff& seen);

struct ForbiddenFusion {      // NCCL_IB_MERGE_NICS=0, on a release whose core fuses all the same
  std::string device, other;  // "mlx5_0:1"
};
Diagnosis diagnose(const ForbiddenFusion& seen);

struct NoRefCount {};  // NCCL_NET_PLUGIN_REF_COUNT, on a release that needs it
Diagnosis diagnose(const NoRefCount& seen);

// --- a name that NCCL doesn't know, and nearly one that it does

struct MisspeltVariable {
  std::string name;
  std::string nearest;
};
Diagnosis diagnose(const MisspeltVariable& seen);

// --- not the same everywhere

struct MissingFromProcess {
  std::string name;
};
Diagnosis diagnose(const MissingFromProcess& seen);

struct OverriddenFile {
  std::string file;
  std::string value;
};
Diagnosis diagnose(const OverriddenFile& seen);

}  // namespace nnd::diagnosis
