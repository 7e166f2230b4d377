// From the fields of a log's line or of a black box's record to a typed event: where a source has
// walked to and what it found there is told here, whatever it is encoded in.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "log/event.h"

namespace nnd::log {

// Integers that fit are std::int64_t.
using Scalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

// Where in the event: its own fields, or those of an object in it.
enum class Place : std::uint8_t {
  kTop,
  kDev,
  kPeer,
  kLink,
  kQp,
  kCompletion,
  kLaunch,
  kInner,
  kCauses,
  kLatency,
  kNetwork,
  kEnvironment,
  kLimits,
  kCuda,
  kCounters,
  kQps,
  kGrown,
  kTask,
  kCommunicators,
  kLastGiven,  // in one of those
  kGids,
  kPcie,
  kCalled,
  kRan,
  kTook,  // in one of those
  kBusyCalls,
  kBusyBytes,
  kBusyNs,
  kCalledSizes,
  kRanSizes,
  kTraffic,
  kCensus,
  kTarget,
  kLatecomer,
  kAwaited,
  kAwaitedTask,  // in that
  kAwaitedOther,
  kAwaitedOtherTask,
  kSent,  // in that
  kReceived,
  kPorts,
  kPortSent,  // in one of those
  kPortSlowest,
  kElsewhere  // nothing of it is kept
};

// Where the object of that name is.
Place place_of(Place outer, std::string_view key);

// An object that is an element of an array begins.
void begin_element(Event& event, Place place);

// Stores a value, or an element of an array. What nobody asks for is left out. False: a field that
// is known has a type or a range that no event of ours has.
bool store(Event& event, Place place, std::string_view key, const Scalar& value);

// Whether what every event has is there. Fills in what follows from it.
bool complete(Event& event);

}  // namespace nnd::log
