#include "record/event.h"

#include <algorithm>
#include <cstring>

#include "record/advice.h"
#include "record/console.h"
#include "record/recorder.h"
#include "record/submit.h"
#include "state/failure.h"

namespace nnd::record {

namespace {

// What tells one device or peer from another; addresses would make each connection a new subject.
constexpr Key kSubjectKeys[] = {"name", "port", "host", "proc"};

}  // namespace

Event::Event(EventId id, Severity severity, Weight weight)
    : id_(id), severity_(severity), enabled_(wanted(id, severity, weight)) {}

void Event::note_subject(Key key, std::string_view value) {
  if (std::find(std::begin(kSubjectKeys), std::end(kSubjectKeys), key) == std::end(kSubjectKeys))
    return;
  for (const char c : value) subject_ = (subject_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
}

Event& Event::add(Key key, std::string_view value) {
  if (!enabled_) return *this;
  if (in_subject_) note_subject(key, value);
  pack_.add(key, value);
  return *this;
}

Event& Event::add(Key key, bool value) {
  if (enabled_) pack_.add(key, value);
  return *this;
}

Event& Event::add(Key key, double value) {
  if (enabled_) pack_.add(key, value);
  return *this;
}

Event& Event::add_signed(Key key, std::int64_t value) {
  if (value >= 0) return add_unsigned(key, static_cast<std::uint64_t>(value));
  if (enabled_) pack_.add_signed(key, value);
  return *this;
}

Event& Event::add_unsigned(Key key, std::uint64_t value) {
  if (!enabled_) return *this;
  if (in_subject_) note_subject(key, {reinterpret_cast<const char*>(&value), sizeof(value)});
  pack_.add_unsigned(key, value);
  return *this;
}

Event& Event::hex(Key key, std::uint64_t value) {
  if (!enabled_) return *this;
  if (in_subject_) note_subject(key, {reinterpret_cast<const char*>(&value), sizeof(value)});
  pack_.hex(key, value);
  return *this;
}

Event& Event::object(Key key) {
  if (!enabled_) return *this;
  in_subject_ =
      severity_ != Severity::kInfo && pack_.depth() == 1 && (key == "dev" || key == "peer");
  pack_.open(key, false);
  return *this;
}

Event& Event::array(Key key) {
  if (enabled_) pack_.open(key, true);
  return *this;
}

Event& Event::push(std::string_view value) {
  if (enabled_) pack_.push(value);
  return *this;
}

Event& Event::push_object() {
  if (enabled_) pack_.push_object();
  return *this;
}

Event& Event::end() {
  if (!enabled_) return *this;
  pack_.end();
  in_subject_ = in_subject_ && pack_.depth() > 1;
  return *this;
}

Event& Event::of_failure(nccl_net_diag::Cause cause, std::uint32_t failure) {
  if (!enabled_) return *this;
  pack_.add("cause", nccl_net_diag::cause_id(cause));
  if (failure != 0) pack_.add_unsigned("failure", failure);
  failure_ = failure;
  return *this;
}

Event& Event::diagnose(const diagnosis::Diagnosis& diagnosis, std::uint32_t failure) {
  if (!enabled_) return *this;
  of_failure(diagnosis.cause, failure);
  pack_.add("msg", diagnosis.sentence);
  pack_.add("fix", diagnosis.remedy);
  const std::string advice = diagnosis::text(diagnosis);
  const std::size_t size = std::min(advice.size(), sizeof(advice_) - 1);
  std::memcpy(advice_, advice.data(), size);
  advice_[size] = '\0';
  cause_ = diagnosis.cause;
  cause_size_ = static_cast<std::uint32_t>(nccl_net_diag::cause_id(diagnosis.cause).size());
  return *this;
}

void Event::emit_to_log() {
  if (!enabled_ || emitted_) return;
  emitted_ = true;
  if (failure_ != 0) state::count_event(failure_, severity_ == Severity::kError);
  if (severity_ == Severity::kError) announce_error();
  submit(id_, severity_, pack_.finish());
  // A policy that keeps an HCA out does what it is for.
  if (cause_size_ != 0 && id_ != EventId::kPolicyRefuse)
    tell_console(severity_, cause_, advice_, lasts_);
}

void Event::emit() {
  if (!enabled_ || emitted_) return;
  emit_to_log();
  if (severity_ == Severity::kInfo || cause_size_ == 0) return;
  if (first_of_cause({advice_, cause_size_}, subject_)) nccl_info(advice_);
}

}  // namespace nnd::record
