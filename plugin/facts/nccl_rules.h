// The rules of NCCL's own IB transport: how it reads variables, which ports NCCL_IB_HCA selects,
// how many devices it takes, which GID it picks; its loop over the ports is in node.cc. In our own
// words, from NCCL's sources 2.18.3 to 2.30.7 (src/misc/utils.cc, src/transport/net_ib.cc, later
// net_ib/init.cc and net_ib/connect.cc); newer ones are taken to be as 2.30.7. Pure functions. A
// version is NCCL's own code (22809 for 2.28.9); 0: newest rules.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "facts/ip.h"
#include "facts/verbs_device.h"
#include "nccl_abi/releases.h"

namespace nnd::facts {

// The environment as NCCL sees it.
class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> values)
      : values_(std::move(values)) {}
  static Environment of_process();

  // Null where it is not set.
  const std::string* get(std::string_view name) const;
  // The release whose way of reading counts; by default the newest's.
  void read_as(int nccl_version) { nccl_version_ = nccl_version; }
  // As NCCL reads numbers: base by prefix; the fallback where unset, empty or out of range. What
  // does not start with a number is 0 up to 2.31, and unset from 2.32 on.
  long number(std::string_view name, long fallback) const;
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  int nccl_version_ = 0;
};

constexpr int max_ib_devices(int version) {
  return nccl_abi::kTakes32Devices.has(version) ? 32 : 16;
}

// 2.20 to 2.23 compare PCI paths with strcmp and no null check: a device without one crashes them.
constexpr bool crashes_without_pci_path(int version) {
  return nccl_abi::kCrashesWithoutPciPath.has(version);
}

struct HcaEntry {
  std::string name;  // a prefix, or a whole name where the filter is exact
  int port = -1;     // -1: any
  int rail = -1;     // from 2.30.7
  int plane = -1;    // from 2.30.7
};

// NCCL_IB_HCA. '^' (all but) and '=' (whole names) are read once, at the start, in this order.
struct HcaFilter {
  bool given = false;  // the variable is set
  std::string text;    // as it is set
  bool exclude = false;
  bool exact = false;
  std::vector<HcaEntry> entries;  // those beyond max_ib_devices() are not read

  static HcaFilter parse(const std::string* value, int version);
  // The first entry that matches, or null.
  const HcaEntry* match(std::string_view device, int port) const;
  // A list without an entry matches everything: "" takes all, "^" none.
  bool takes(std::string_view device, int port) const;
};

enum class PickBasis : std::uint8_t {
  kNone,          // no pick: the port has no GID table, or the pick fails
  kForced,        // NCCL_IB_GID_INDEX
  kFixedDefault,  // before 2.21: index 0
  kQualified,     // family, range and RoCE version fit
  kOtherVersion,  // family and range fit, the RoCE version does not
  kFallback,      // nothing fits: index 0 stays
  kInfiniband,    // index 0
  kRoutableFlid   // InfiniBand, the GID at NCCL_IB_ROUTABLE_FLID_GID_INDEX (default 1)
};

struct GidPick {
  int index = -1;
  PickBasis basis = PickBasis::kNone;
  std::string why;
  // False: NCCL compares with a RoCE version that it could not read and takes what the memory
  // happens to hold, so that another run may pick another index.
  bool certain = true;
  std::string by = {};  // the variable that stands in the way of a better one; empty: none does
};

struct GidSlot {
  context::Gid raw{};
  GidType type = GidType::kUnknown;
  int type_error = 0;  // errno of reading the type in sysfs
};

// errno of reading the type of this index in sysfs.
using TypeError = std::function<int(std::size_t index)>;

// `table` has one slot per index, zero GIDs included: NCCL looks at them too. Types are read as it
// reads them, few; without `type_error` what the slots say counts.
GidPick pick_gid(const std::vector<GidSlot>& table, int link_layer, const Environment& environment,
                 int version, const TypeError& type_error = {});

}  // namespace nnd::facts
