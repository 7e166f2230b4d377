// What NCCL prints that decides something, as its libraries have it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nnd::foreign {

enum class Says : std::uint8_t {
  kRank,        // a communicator is being made
  kHcas,        // which ones NCCL took
  kHcaPath,     // where one is on the PCI bus
  kNetwork,     // which transport
  kInterfaces,  // that sockets use
  kNoDevice,    // no HCA was found
  kMoveFailed,  // ibv_modify_qp
  kCompletion,
  kRegistration,
  kNoQp,  // ibv_create_qp
  kNoCq,  // ibv_create_cq
  kNoGid,
  kCantOpen,  // an HCA that is listed
  kDeviceEvent,
  kFatalEvent,
  kGidTable,
  kConnect,     // TCP
  kNoAddress,   // what a peer gave as its own is none
  kAccept,      // of a connection
  kClosed,      // by the peer
  kTruncated,   // more came than was asked for
  kVersions,    // two releases
  kLinkLayers,  // InfiniBand and RoCE
  kNoInterface,
  // Of the program, the node or a GPU: the network has no part in it.
  kRankClash,     // two processes have one rank, or other numbers of ranks
  kOneGpu,        // of two ranks
  kSharedMemory,  // in /dev/shm
  kCuda,          // a call of its failed
  kNvls,          // NVLink SHARP can't be set up
  kNvlsLess,      // nor here, where NCCL does without
  kSuspected,     // ranks may have called different collectives
  kMismatched,    // one rank sends more than the other takes
  kAborted
};

// What each conversion of the format is.
//   r rank  n ranks in all  d HCA  p port  s status  e errno  t errno as text  a address of the
//   peer x what is said  m more, with words of its own  . of no use here
struct Saying {
  Says says;
  std::string_view format, values;
  int from, to;           // releases, 21803; 0: still
  std::string_view file;  // of NCCL's sources, as of the first of these releases
};

// A longer format goes before one that it begins with.
const std::vector<Saying>& nccl_sayings();

}  // namespace nnd::foreign
