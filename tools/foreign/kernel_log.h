// A node's kernel log: what of it can end a job.
#pragma once

#include <cstdint>
#include <string_view>

#include "foreign/kernel_line.h"
#include "foreign/kernel_sayings.h"
#include "foreign/nccl_text.h"

namespace nnd::foreign {

// Takes a file line by line: dmesg's, journalctl's (as text or JSON) or syslog's. One thread at a
// time.
class KernelLog {
 public:
  explicit KernelLog(FactSink sink) : sink_(std::move(sink)) {}

  void take(std::string_view line, std::uint64_t number);
  // Lines that say that they are the kernel's.
  std::uint64_t lines() const { return lines_; }

 private:
  void take_json(std::string_view line, std::uint64_t number);
  void take(const KernelLine& line, std::uint64_t number);

  FactSink sink_;
  std::uint64_t lines_ = 0;
};

}  // namespace nnd::foreign
