#include "record/console.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "config/plain_text.h"
#include "context/clock.h"
#include "context/immortal.h"

namespace nnd::record {

namespace {

using nccl_net_diag::Severity;

enum class SlotState : int { kFree, kTaken, kFull };

// Causes that come at the same time; a later one finds room as soon as the drain has written.
struct Slot {
  std::atomic<SlotState> state{SlotState::kFree};
  Severity severity{};
  std::size_t size = 0;
  std::array<char, 768> text{};
};

// When the last of them were told, CLOCK_MONOTONIC; 0: none was.
using Recent = std::array<std::atomic<std::uint64_t>, 3>;
constexpr std::uint64_t kHourNs = 3'600'000'000'000;

struct Console {
  Recent recent{};
  std::array<Slot, 8> slots;
  std::array<std::atomic<bool>, nccl_net_diag::kCauses.size()> told{};
  std::atomic<int> least{static_cast<int>(Severity::kError) + 1};  // severity; higher: none
  std::string who, log;                                            // the drain's
};

Console& console() noexcept {
  static context::Immortal<Console> instance;
  return *instance;
}

// Then every sentence is on the terminal already.
bool nccl_prints_it() {
  const char* const debug = std::getenv("NCCL_DEBUG");
  return debug != nullptr && (strcasecmp(debug, "INFO") == 0 || strcasecmp(debug, "TRACE") == 0) &&
         std::getenv("NCCL_DEBUG_FILE") == nullptr && std::getenv("NCCL_DEBUG_SUBSYS") == nullptr;
}

// Whether there is still one to tell within this hour; it is taken.
bool take_one(Recent& recent) noexcept {
  const std::uint64_t now = context::mono_ns();
  for (std::atomic<std::uint64_t>& at : recent) {
    std::uint64_t last = at.load(std::memory_order_relaxed);
    if ((last == 0 || now - last >= kHourNs) && at.compare_exchange_strong(last, now)) return true;
  }
  return false;
}

void write_line(const Console& from, const Slot& slot) {
  const std::string line =
      config::plain(fmt::format("libnccl-net-diag: {}: {} {} ({})", from.who,
                                nccl_net_diag::severity_name(slot.severity),
                                std::string_view(slot.text.data(), slot.size), from.log)) +
      "\n";
  // In one piece, or not at all: whoever can't take it loses nothing that the log hasn't.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void name_console_log(const std::string& log) { console().log = log; }

void open_console(config::Stderr level, std::string who) {
  Console& c = console();
  c.who = std::move(who);
  const int none = static_cast<int>(Severity::kError) + 1;
  c.least = level == config::Stderr::kOff || nccl_prints_it() ? none
            : level == config::Stderr::kWarn                  ? static_cast<int>(Severity::kWarn)
                                                              : static_cast<int>(Severity::kError);
}

void tell_console(Severity severity, nccl_net_diag::Cause cause, std::string_view advice,
                  bool lasts) noexcept {
  Console& c = console();
  const int least = c.least.load(std::memory_order_relaxed);
  const bool wanted = static_cast<int>(severity) >= least;
  lasts = lasts && severity == Severity::kWarn && least == static_cast<int>(Severity::kError);
  if (!wanted && !lasts) return;
  std::atomic<bool>& told = c.told[static_cast<std::size_t>(cause)];
  if (told.load(std::memory_order_relaxed) || (!wanted && !take_one(c.recent))) return;
  if (told.exchange(true, std::memory_order_relaxed)) return;
  for (Slot& slot : c.slots) {
    SlotState free = SlotState::kFree;
    if (!slot.state.compare_exchange_strong(free, SlotState::kTaken)) continue;
    slot.severity = severity;
    slot.size = std::min(advice.size(), slot.text.size());
    std::memcpy(slot.text.data(), advice.data(), slot.size);
    slot.state.store(SlotState::kFull, std::memory_order_release);
    return;
  }
  told.store(false, std::memory_order_relaxed);  // no room: the next of its kind is told
}

void write_console() noexcept {
  Console& c = console();
  for (Slot& slot : c.slots) {
    if (slot.state.load(std::memory_order_acquire) != SlotState::kFull) continue;
    try {
      write_line(c, slot);
    } catch (const std::bad_alloc&) {
    }
    slot.state.store(SlotState::kFree, std::memory_order_release);
  }
}

void forget_console() noexcept {
  for (Slot& slot : console().slots) slot.state = SlotState::kFree;
  for (auto& told : console().told) told = false;
  for (auto& at : console().recent) at = 0;
}

}  // namespace nnd::record
