#include <atomic>
#include <string>

#include "config/plain_text.h"
#include "context/keep_loaded.h"
#include "record/recorder.h"

namespace nnd::record {

namespace {

// ncclDebugLogLevel and ncclDebugLogSubSys, nccl_common.h, the same from NCCL 2.18 to 2.30. INIT is
// among the subsystems that NCCL_DEBUG=INFO prints by default, NET is not.
constexpr int kWarn = 2;
constexpr int kInfo = 3;
constexpr unsigned long kInitAndNet = 0x1 | 0x10;

constinit std::atomic<NcclLogger> g_logger{nullptr};

void say(int level, std::string_view line) {
  const NcclLogger logger = g_logger.load(std::memory_order_acquire);
  if (logger == nullptr) return;
  std::string made_plain;  // names and values of variables may hold anything
  if (!config::is_plain(line)) line = made_plain = config::plain(line);
  // A logger of printf's kind: __func__ and a line are its prefix at WARN.
  logger(level, kInitAndNet, "nccl-net-diag", 0, "%s %.*s", kNcclPrefix.data(),
         static_cast<int>(line.size()), line.data());
}

}  // namespace

void set_nccl_logger(NcclLogger logger) noexcept {
  context::keep_loaded(reinterpret_cast<const void*>(logger));
  g_logger.store(logger, std::memory_order_release);
}

void nccl_info(std::string_view line) { say(kInfo, line); }
void nccl_warn(std::string_view line) { say(kWarn, line); }

}  // namespace nnd::record
