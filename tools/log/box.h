// Reads a black box (nccl_net_diag/black_box.h). Trusts nothing: what can't be right is left out
// and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_net_diag/black_box.h"

namespace nnd::log {

struct BoxRecord {
  nccl_net_diag::box::RecordHeader header;
  std::string payload;  // MessagePack
};

struct BoxContents {
  std::string problem;  // why the file is no black box; empty: it is one
  nccl_net_diag::box::FileHeader header{};
  std::vector<BoxRecord> records;  // not yet in the log, by time
  std::vector<nccl_net_diag::box::CommSlot> comms;
  std::vector<nccl_net_diag::box::ConnSlot> conns;
  std::uint64_t dropped = 0;     // events that found a ring full
  unsigned damaged_rings = 0;    // with places that make no sense, or outside the file
  unsigned damaged_records = 0;  // known to have been there
  unsigned damaged_comms = 0;
  unsigned damaged_conns = 0;

  unsigned damaged() const {
    return damaged_rings + damaged_records + damaged_comms + damaged_conns;
  }
};

inline constexpr std::uint64_t kLargestBox = 1u << 28;  // bytes: more than a process ever writes

// `bytes`: the file's. Takes no more than four times their memory. Throws bad_alloc.
BoxContents read_box(std::string_view bytes);

// Reads the box's file from `offset` on: `size` bytes, or fewer where it ends.
using ReadAt = std::function<std::string(std::uint64_t offset, std::uint64_t size)>;
// The same without the rings, which are most of it: for who looks at a living process's box again
// and again.
BoxContents read_box_tables(const ReadAt& read);

// Seconds from a time named _raw to the box's last sign of life; unset: never, or not known.
std::optional<double> seconds_ago(const nccl_net_diag::box::FileHeader& header, std::uint64_t raw);
// The same time as CLOCK_MONOTONIC; 0: never, or not known.
std::uint64_t mono_of(const nccl_net_diag::box::FileHeader& header, std::uint64_t raw);

}  // namespace nnd::log
