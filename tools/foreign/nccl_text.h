// NCCL's own log (NCCL_DEBUG), or a job's output with that in it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "foreign/fact.h"
#include "foreign/nccl_line.h"

namespace nnd::foreign {

using FactSink = std::function<void(Fact&&)>;

// Takes a file line by line. One thread at a time.
class NcclText {
 public:
  explicit NcclText(FactSink sink) : sink_(std::move(sink)) {}

  void take(std::string_view line, std::uint64_t number);
  // Lines of NCCL's that it saw.
  std::uint64_t lines() const { return lines_; }

 private:
  void take(const NcclLine& line, std::uint64_t number);
  void take_interfaces(const NcclLine& line, std::uint64_t number);
  void take_plugin(const NcclLine& line, std::uint64_t number);
  void take_ofi(const NcclLine& line, std::uint64_t number);
  void take_exception(std::string_view line, std::uint64_t number);
  bool take_last_error(std::string_view line, std::uint64_t number);
  void tell(Fact&& fact, const NcclLine& line, std::uint64_t number);

  FactSink sink_;
  std::uint64_t lines_ = 0;
  std::optional<std::size_t> last_error_;  // the next line is it, behind a prefix of that length
};

}  // namespace nnd::foreign
