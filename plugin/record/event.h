// Building one event. The payload is a MessagePack map in a buffer on the stack; common fields (v,
// ts, mono_ns, host, pid, proc, seq, ev, sev) are added when the line is written. Not for the data
// path. A string over 8 KiB, an event over 64 KiB, more than 8 levels: the event is cut and says so
// (field "cut").
//
//   Event(EventId::kQpTransition).add("conn", 7).object("qp").add("num", 0x1a5).add("from",
//   "INIT").end().emit();
//
// An event that is filtered out or comes before start() costs a branch per call. Not thread-safe:
// one event, one thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "nccl_net_diag/events.h"
#include "record/pack.h"

namespace nnd::record {

using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

// A step: of a connection, and it went well. conn.ready and conn.close tell it again, so it is
// written only where the events were chosen by name (NCCL_NET_DIAG_EVENTS).
enum class Weight : bool { kNews, kStep };

class Event {
 public:
  explicit Event(EventId id, Severity severity = Severity::kInfo, Weight weight = Weight::kNews);

  // A key may be given once per object. Inside an array use push().
  Event& add(Key key, std::string_view value);
  Event& add(Key key, const char* value) { return add(key, std::string_view(value)); }
  Event& add(Key key, bool value);
  Event& add(Key key, double value);
  template <std::integral T>
  Event& add(Key key, T value) {
    if constexpr (std::is_signed_v<T>)
      return add_signed(key, value);
    else
      return add_unsigned(key, value);
  }
  Event& hex(Key key, std::uint64_t value);  // as a string "0x..."

  Event& object(Key key);
  Event& array(Key key);
  Event& push(std::string_view value);
  Event& push_object();
  Event& end();  // closes the innermost object or array
  // What other maps have too: write(Pack&).
  template <class Write>
  Event& with(Write&& write) {
    if (enabled_) write(pack_);
    return *this;
  }

  // A warn or error says its cause, one sentence with what was seen, and what to do; `failure`: the
  // number that all events of this failure have, 0: it is none.
  Event& diagnose(const diagnosis::Diagnosis& diagnosis, std::uint32_t failure = 0);
  // A later event of a failure whose sentence was told: cause and number.
  Event& of_failure(nccl_net_diag::Cause cause, std::uint32_t failure);

  // Hands the event to the recorder (and, for warn and error, one INFO line to NCCL's logger).
  // Never blocks on the log: a full ring drops and counts.
  void emit();
  // Without the line: NCCL's logger gets the sentence otherwise.
  void emit_to_log();

  // What it tells of will not end by itself: the terminal gets it though it is no error.
  Event& lasts(bool will = true) {
    lasts_ = will;
    return *this;
  }

  bool enabled() const { return enabled_; }

  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

 private:
  Event& add_signed(Key key, std::int64_t value);
  Event& add_unsigned(Key key, std::uint64_t value);
  void note_subject(Key key, std::string_view value);

  EventId id_;
  Severity severity_;
  bool enabled_;
  bool emitted_ = false;
  bool lasts_ = false;
  bool in_subject_ = false;    // inside "dev" or "peer"
  std::uint64_t subject_ = 0;  // hash of what tells devices and peers apart
  std::uint32_t failure_ = 0;  // number of the failure that it belongs to; 0: none
  char advice_[768];           // "CAUSE: msg. fix", ends with 0
  nccl_net_diag::Cause cause_{};
  std::uint32_t cause_size_ = 0;  // of the cause at the beginning of advice_; 0: nobody was blamed
  Pack pack_;
};

}  // namespace nnd::record
