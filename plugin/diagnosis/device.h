// What is odd about an HCA or one of its ports. An empty remedy means: leave it out, which the
// caller puts into a list of what remains.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

// --- by itself

// verbs lists it and can't open it.
struct CannotOpen {
  enum class Node : std::uint8_t { kNotKnown, kMissing, kCgroup, kPermissions };
  std::string device;
  int error = 0;
  Node node = Node::kNotKnown;  // what keeps /dev/infiniband/<uverbs> from this process
  std::string uverbs = {};      // "uverbs3"; empty: not known
  bool bare_host = false;       // else a container, or not known
};
Diagnosis diagnose(const CannotOpen& seen);

struct NoneOpens {
  std::size_t count = 0;
  CannotOpen first;
};
Diagnosis diagnose(const NoneOpens& seen);

struct NoDevicePath {
  std::string device;
  int nccl_version = 0;  // 22203
};
Diagnosis diagnose(const NoDevicePath& seen);

struct BeyondLimit {
  std::string device;  // the first that is left out
  int limit = 0;
};
Diagnosis diagnose(const BeyondLimit& seen);

struct DeniedByName {
  std::string device;
  bool not_allowed = false;  // there is a list of those that are, and it is not in it
};
Diagnosis diagnose(const DeniedByName& seen);

struct OutsideSubnets {
  std::string place;
  std::string address;
};
Diagnosis diagnose(const OutsideSubnets& seen);

struct NoLid {
  std::string place;
};
Diagnosis diagnose(const NoLid& seen);

struct LinkNotUp {
  std::string place;
  std::string phys_state;
};
Diagnosis diagnose(const LinkNotUp& seen);

// A port that NCCL skips, and that was meant to be used.
struct MissingPort {
  std::string place;
  std::string state;       // "DOWN"
  std::string phys_state;  // "Polling"
  // By the first of these that is there: a GPU that has fewer rails than the others; the address of
  // its interface ("10.0.3.1/24"), as its siblings have one; the number of GPUs, where
  // with it there is one port alike for each; or InfiniBand's link, which is up.
  std::string gpu = {};
  std::size_t usual = 0;  // rails beside each of the other GPUs
  std::string address = {};
  std::size_t others = 0;  // ports alike that NCCL takes
  std::size_t gpus = 0;
};
Diagnosis diagnose(const MissingPort& seen);

struct BelowMinimumSpeed {
  std::string place;
  long mbps = 0;
  long minimum_mbps = 0;
};
Diagnosis diagnose(const BelowMinimumSpeed& seen);

struct BadPkey {
  std::string place;
  long index = 0;
  unsigned key = 0;     // 0: the slot is empty
  int full_index = -1;  // of a full member's key; -1: there is none
  unsigned full_key = 0;
};
Diagnosis diagnose(const BadPkey& seen);

struct NoGpuDirect {
  std::string place;
  std::string why;
  std::string wanted = {};     // what the policy asks for: "DMA-BUF"; empty: nothing in particular
  std::string way = {};        // what there is then: "peermem", "none"
  bool unseen_module = false;  // nvidia_peermem is loaded, and this NCCL doesn't look there
};
Diagnosis diagnose(const NoGpuDirect& seen);

// --- its GIDs

// The first GID of the port that is global and RoCE v2, as a hint where to look.
struct GoodGid {
  std::string text;  // empty: there is none
  unsigned index = 0;
  bool ipv6 = false;
};

struct NoGid {
  std::string place;
  int table_length = 0;
};
Diagnosis diagnose(const NoGid& seen);

struct UnreadableGid {
  std::string place;
  std::string why;
  std::string by = {};  // the variable that is to blame; empty: none
};
Diagnosis diagnose(const UnreadableGid& seen);

// What NCCL picks, or is made to, where that is no good.
struct PickedGid {
  enum class Fault : std::uint8_t { kEmpty, kLinkLocal, kRoceV1 };
  Fault fault = Fault::kEmpty;
  std::string place;
  int index = 0;
  std::string gid = {};  // not of an empty slot
  std::string why;
  bool forced = false;  // by NCCL_IB_GID_INDEX
  GoodGid good = {};
  std::string by = {};    // the variable that keeps NCCL from a better one; empty: none
  bool by_index = false;  // this NCCL takes an index and looks for none by itself
};
Diagnosis diagnose(const PickedGid& seen);

// The first of several addresses is of another network than the siblings'.
struct ForeignGid {
  std::string place;
  std::string netdev;
  std::string gid;   // that NCCL uses
  std::string plan;  // "10.200.0.0/16", in which the siblings are
  GoodGid good = {};
  bool by_index = false;  // as in PickedGid
};
Diagnosis diagnose(const ForeignGid& seen);

// --- against its siblings

// What sets an HCA apart from the compute HCAs of its node. What is empty or 0 does not.
struct Unlike {
  enum class Bonding : std::uint8_t { kSame, kBond, kPlain };  // alone among the others
  std::size_t fabric = 0;                                      // compute ports that there are
  bool sure = true;                                            // else it may be meant all the same
  bool other_layer = false;
  Bonding bonding = Bonding::kSame;
  long mbps = 0;
  long usual_mbps = 0;
  std::string default_route = {};  // the interface that carries it
  std::string subnet = {};         // and nothing routes between the two
  std::string usual_subnet = {};
  std::string distance = {};  // to the nearest GPU: "SYS"
  std::string usual_distance = {};
  std::string card = {};  // another port of its card, which is unlike the others, too

  std::size_t kinds() const;
  std::vector<std::string> text() const;  // in what, but for the link layer and being a bond
};

struct OddBond {
  std::string device;
  std::string bond;
  std::vector<std::string> slaves;
  std::string trouble = {};  // "eno1 is down"
  bool denied = false;       // by the policy, whatever it is like
  Unlike unlike = {};
};
Diagnosis diagnose(const OddBond& seen);

struct OutsideFabric {
  std::string place;
  std::string netdev;
  Unlike unlike = {};
};
Diagnosis diagnose(const OutsideFabric& seen);

struct DefaultRoute {
  std::string place;
  long mbps = 0;
  std::string netdev;
  std::size_t others = 0;  // HCAs without one
};
Diagnosis diagnose(const DefaultRoute& seen);

struct OddLinkLayer {
  std::string place;
  bool infiniband = false;
  bool wanted_by_policy = false;  // else the compute HCAs'
  std::size_t fabric = 0;         // of these there are so many
  bool sure = true;               // that it is they that are meant
};
Diagnosis diagnose(const OddLinkLayer& seen);

struct SlowerThanSiblings {
  std::string place;
  long mbps = 0;
  long median_mbps = 0;
  bool rail = false;  // of the compute fabric; else it may be none
};
Diagnosis diagnose(const SlowerThanSiblings& seen);

struct SlowPcie {
  std::string device;
  double gts = 0;
  int width = 0;
  double max_gts = 0;
  int max_width = 0;
  bool rail = false;
};
Diagnosis diagnose(const SlowPcie& seen);

struct SmallMtu {
  std::string place;
  std::string netdev;
  long mtu = 0;
  long minimum = 0;  // the policy's; 0: compared with the siblings
  long usual = 0;
};
Diagnosis diagnose(const SmallMtu& seen);

// NCCL would take functions of a card beside each other.
struct VirtualBesidePhysical {
  enum class Meant : std::uint8_t { kNotKnown, kPhysical, kVirtual };
  Meant meant = Meant::kNotKnown;  // those with an address of this network namespace
  std::vector<std::string> virtual_ones = {};
  std::vector<std::string> physical = {};
};
Diagnosis diagnose(const VirtualBesidePhysical& seen);

std::string gbits(long mbps);  // "400 Gbit/s"

}  // namespace nnd::diagnosis
