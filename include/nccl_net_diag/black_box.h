// The black box: the file in which a process keeps its last events and the counters of its
// connections, so that they outlive a crash or kill -9. Everything is little-endian. A reader
// trusts nothing: sizes and offsets are checked against the file, records and slots carry
// checksums.
//
//   FileHeader | ring_count x (RingHeader, ring_size bytes) | comm_count x CommSlot |
//   conn_count x ConnSlot
//
// The communicators lie right before the connections. The file grows by connections: all that there
// are have a place.
//
// Each ring is written by one thread at a time. Bytes [tail, head) of it (both count from the
// process's start; the place in the ring is the count modulo ring_size) are records that were not
// yet written to the event log: RecordHeader, then payload_size bytes of MessagePack (a map: the
// fields of the event log's line but for the common ones), padded with zeros to 8. A record may
// wrap around the ring's end at any byte. A record is in the log as well when the process died
// between the write of the log and that of the tail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nccl_net_diag::box {

inline constexpr const char* kFileEnding = ".nndbox";
inline constexpr char kMagic[8] = {'N', 'N', 'D', 'B', 'O', 'X', '\r', '\n'};
inline constexpr std::uint32_t kVersion = 6;
inline constexpr std::uint32_t kByteOrder = 0x01020304;

// Whom the process waits for in the end, as the processes of its job have told each other
// (job.stall). Texts end with 0.
struct AwaitedSlot {
  std::uint32_t checksum;  // of the slot with this field 0
  std::uint32_t kind;      // 0: nobody that is known
  std::uint64_t proc;
  std::int32_t rank;  // -1: not known
  std::uint32_t pid;  // 0: likewise
  std::uint64_t since_mono_ns;
  char host[40];
  char msg[184];  // "in the end for rank 3 of node1 (pid 812), which has ended"
};
static_assert(sizeof(AwaitedSlot) == 256);
inline constexpr const char* kAwaitedNames[] = {"",     "idle", "cycle", "stopped", "failed",
                                                "pair", "port", "gone",  "ended",   "meets"};

// Who comes last to the collectives of its job, likewise; while it runs.
struct LatecomerSlot {
  std::uint32_t checksum;   // of the slot with this field 0
  std::uint32_t times, of;  // of the collectives that were compared; of 0: nobody
  std::uint32_t us;         // for how long the others waited, the median
  std::int32_t rank;        // -1: not known
  std::uint32_t pid;        // 0: likewise
  char host[40];            // ends with 0
};
static_assert(sizeof(LatecomerSlot) == 64);

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t rings_offset;  // ring i has its header at rings_offset + i * ring_stride
  std::uint64_t ring_stride;
  std::uint64_t ring_size;  // bytes of data behind the ring's header; a power of two
  std::uint32_t ring_count;
  std::uint32_t ring_header_size;
  std::uint64_t conns_offset;
  std::uint32_t conn_size;
  std::uint32_t record_header_size;
  std::uint32_t pid;
  std::uint32_t comm_count;     // CommSlots before conns_offset
  std::uint64_t proc_id;        // field "proc" of the log
  std::uint64_t start_mono_ns;  // CLOCK_MONOTONIC and CLOCK_REALTIME of one instant: what turns
  std::uint64_t start_real_ns;  // a record's mono_ns into wall time
  char host[72];                // ends with 0
  char log_path[260];           // the event log, cut to fit; empty: none
  std::uint32_t checksum;       // of all bytes before it
  // What follows changes while the process lives; each word is written by itself.
  std::uint64_t alive_mono_ns;     // the last pass of the drain thread
  std::uint64_t lines_written;     // lines in the event log
  std::uint64_t raw_base;          // the CPU's counter and
  std::uint64_t raw_base_mono_ns;  // CLOCK_MONOTONIC at one instant, and the
  std::uint64_t raw_hz;            // counter's ticks per second (0: not known yet)
  std::uint64_t conn_count;        // places at conns_offset, conn_size bytes each
  std::uint64_t longest_pause_ns;  // between two such passes, of the last seconds
  AwaitedSlot awaited;             // written as a whole; so is what follows
  LatecomerSlot latecomer;
};
static_assert(sizeof(FileHeader) == 808);
static_assert(offsetof(FileHeader, ring_count) == 40);
static_assert(offsetof(FileHeader, proc_id) == 72);
static_assert(offsetof(FileHeader, host) == 96);
static_assert(offsetof(FileHeader, checksum) == 428);
static_assert(offsetof(FileHeader, alive_mono_ns) == 432);

struct RingHeader {
  std::uint64_t head;
  std::uint64_t tail;
  std::uint64_t dropped;  // events that found the ring full
  std::uint64_t reserved[5];
};
static_assert(sizeof(RingHeader) == 64);

struct RecordHeader {
  std::uint32_t size;      // of header, payload and padding; a multiple of 8
  std::uint32_t checksum;  // of header (with this field 0) and payload
  std::uint64_t mono_ns;
  std::uint32_t ordinal;  // counts the ring's records: a gap tells how many were damaged
  std::uint32_t tid;      // the thread
  std::uint32_t payload_size;
  std::uint16_t event;  // nccl_net_diag::EventId
  std::uint8_t severity;
  std::uint8_t reserved;
};
static_assert(sizeof(RecordHeader) == 32);

inline constexpr std::uint32_t kLargestPayload = 64 * 1024;

inline constexpr std::uint32_t kLatencyBuckets = 40;

// The kinds and stages of a connection, as numbers in the slot.
inline constexpr const char* kKindNames[] = {"", "listen", "send", "recv"};
inline constexpr const char* kStageNames[] = {"",    "listening", "opening", "qp_made", "init",
                                              "rtr", "rts",       "ready",   "failed",  "closing"};

inline constexpr std::uint32_t kSlotQps = 8;

// One connection, attempt or listen comm, copied from the live one every 100 ms. Times named _raw
// are in the CPU's counter (see FileHeader), 0: never. Texts end with 0.
struct ConnSlot {
  std::uint32_t conn;      // event field "conn"; 0 for a listen comm
  std::uint32_t checksum;  // of the slot with this field 0
  std::uint8_t kind;       // 0: the slot is free
  std::uint8_t stage;      // how far it has come
  std::uint8_t net_api;
  std::uint8_t reserved;
  std::int32_t dev;  // event field "dev".index
  std::uint64_t comm;
  std::uint64_t link_proc;
  std::uint64_t link_listen;
  std::uint64_t peer_proc;
  std::int32_t rank;  // -1: not known; so are the next two
  std::int32_t peer_rank;
  std::int32_t channel;
  std::uint32_t qp_count;
  std::uint64_t opened_mono_ns;  // the first connect, accept or listen
  std::uint64_t ready_mono_ns;   // when NCCL got it
  std::uint64_t polls;           // of connect or accept
  std::uint64_t last_poll_raw;
  std::uint64_t moving_since_raw;  // inside ibv_modify_qp since; 0: no
  std::uint32_t moving_to;         // enum ibv_qp_state
  std::uint32_t moving_attempt;
  std::uint64_t started;
  std::uint64_t completed;
  std::uint64_t failed;
  std::uint64_t bytes;
  std::uint64_t untracked;
  std::uint64_t flushes;
  std::uint64_t last_post_raw;
  std::uint64_t last_done_raw;
  char device[64];
  char netdev[16];
  std::uint32_t port;  // 0: the port's other fields are not known
  std::int32_t gid_index;
  std::uint8_t gid[16];
  std::uint8_t peer_gid[16];
  struct {
    std::uint32_t num;
    std::uint32_t remote_num;
  } qps[kSlotQps];                         // the first of them
  std::uint64_t latency[kLatencyBuckets];  // bucket b: requests that took [2^b, 2^(b+1)) ns; the
                                           // last one all above
};
static_assert(sizeof(ConnSlot) == 360 + 8 * kLatencyBuckets);
static_assert(offsetof(ConnSlot, started) == 112 && offsetof(ConnSlot, qps) == 296);

// A collective, send or receive: the names of its states as numbers, and where it was.
inline constexpr const char* kTaskStateNames[] = {"", "called", "scheduled", "launched"};
inline constexpr std::uint64_t kNoSeq = ~std::uint64_t{0};
struct CommTask {
  char func[24];          // "AllReduce"; empty: the place is free
  std::uint64_t ordinal;  // counts the communicator's collectives, or sends and receives, from 1
  std::uint64_t seq;      // NCCL's own number; kNoSeq: it has none
  std::uint64_t bytes;
  std::uint32_t ops;  // operations over the network that began, and that ended
  std::uint32_t ops_done;
  std::uint64_t changed_raw;
  std::uint8_t state;
  std::uint8_t reserved[3];
  std::uint32_t peer;  // of a send or receive, plus 1; 0: not told
};
static_assert(sizeof(CommTask) == 72 && offsetof(CommTask, peer) == 68);

inline constexpr std::uint32_t kLastCollectives = 8;
inline constexpr std::uint32_t kLastTransfers = 4;

// One communicator, copied as connections are.
struct CommSlot {
  std::uint32_t checksum;  // of the slot with this field 0
  std::uint32_t used;      // 0: the slot is free
  std::uint64_t hash;      // event field "comm"; 0: not known yet
  std::int32_t rank;       // -1: not known; so is nranks
  std::int32_t nranks;
  char name[64];
  std::uint64_t collectives;  // that it was given
  std::uint64_t transfers;    // sends and receives
  // The newest first. The last one is the oldest that is open, where that is none of the newest: a
  // program runs ahead.
  CommTask last_collectives[kLastCollectives];
  CommTask last_transfers[kLastTransfers];
};
static_assert(sizeof(CommSlot) == 104 + 72 * (kLastCollectives + kLastTransfers));

// The checksum: over 8-byte little-endian words, the last one filled up with zeros.
class Checksum {
 public:
  // All but the last piece must be a multiple of 8 bytes long.
  Checksum& add(const void* data, std::size_t size) {
    const char* p = static_cast<const char*>(data);
    for (; size >= 8; p += 8, size -= 8) mix(p, 8);
    if (size != 0) mix(p, size);
    return *this;
  }
  std::uint32_t value() const { return static_cast<std::uint32_t>(sum_ ^ (sum_ >> 32)); }

 private:
  void mix(const char* p, std::size_t n) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, n);
    sum_ = (sum_ ^ word) * 0x9E3779B97F4A7C15u;
    sum_ ^= sum_ >> 29;
  }
  std::uint64_t sum_ = 0x4E4E4442u;
};

}  // namespace nccl_net_diag::box
