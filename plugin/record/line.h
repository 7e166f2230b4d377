// One line of the event log from one record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nccl_net_diag/events.h"

namespace nnd::record {

// What is the same on every line of a process, and what turns mono_ns into wall time.
class LineWriter {
 public:
  LineWriter() = default;
  LineWriter(std::string_view host, std::uint32_t pid, std::uint64_t proc_id,
             std::uint64_t start_mono_ns, std::uint64_t start_real_ns);

  // `payload` is a MessagePack map; invalid UTF-8 in it is replaced. False when it is no map; what
  // is in `line` then is of no use. The line has no newline. Throws bad_alloc.
  bool write(std::string& line, std::uint64_t seq, nccl_net_diag::EventId id,
             nccl_net_diag::Severity severity, std::uint64_t mono_ns,
             std::string_view payload) const;

  // What the two clocks say now. Lines written from here on follow the wall clock where it was set
  // meanwhile, by more than `step_ns`.
  void set_clock(std::uint64_t mono_ns, std::uint64_t real_ns, std::uint64_t step_ns);

 private:
  std::string common_;  // "host":...,"pid":...,"proc":...
  std::uint64_t mono_to_real_ = 0;
};

}  // namespace nnd::record
