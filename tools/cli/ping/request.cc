#include "cli/ping/request.h"

#include <algorithm>

#include "nccl_abi/common.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kSmallestPing = 8;
constexpr std::size_t kMostText = 4096;

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw BadRequest(std::string("no ") + key);
  return *found;
}

std::string text(const json& object, const char* key) {
  const auto& value = member(object, key);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMostText)
    throw BadRequest(std::string(key) + " is no text, or too long");
  return value.get<std::string>();
}

std::int64_t number(const json& value, const char* key, std::int64_t least, std::int64_t most) {
  const bool whole =
      value.is_number_integer() && (!value.is_number_unsigned() ||
                                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most));
  if (!whole || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    throw BadRequest(std::string(key) + " is no number, or out of range");
  return value.get<std::int64_t>();
}

int small_number(const json& object, const char* key, int least, int most) {
  return static_cast<int>(number(member(object, key), key, least, most));
}

PingTraffic traffic_of(const json& value) {
  if (!value.is_object()) throw BadRequest("traffic is no object");
  PingTraffic out;
  const auto& sizes = member(value, "sizes");
  if (!sizes.is_array() || sizes.empty() || sizes.size() > kMostPingSizes)
    throw BadRequest("sizes is no list, or too long");
  out.sizes.clear();
  for (const auto& size : sizes)
    out.sizes.push_back(static_cast<std::size_t>(
        number(size, "size", kSmallestPing, static_cast<std::int64_t>(kLargestPing))));
  out.stream_ms = small_number(value, "stream_ms", 1, kLongestPhaseMs);
  out.latency_ms = small_number(value, "latency_ms", 1, kLongestPhaseMs);
  out.deadline_ms = small_number(value, "deadline_ms", 1, kLongestAttemptMs);
  return out;
}

std::string handle_of(const json& message) {
  auto handle = text(message, "handle");
  if (handle.size() != 2 * nccl_abi::kHandleSize ||
      handle.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw BadRequest("handle is none");
  return handle;
}

}  // namespace

std::size_t PingTraffic::window(std::size_t size) const {
  constexpr std::size_t kMostMemory = 128U << 20U, kMost = 8;
  return std::clamp(kMostMemory / size, std::size_t{2}, kMost);
}

json PingTraffic::to_json() const {
  return {{"sizes", sizes},
          {"stream_ms", stream_ms},
          {"latency_ms", latency_ms},
          {"deadline_ms", deadline_ms}};
}

PingRequest parse_ping_request(const json& message) {
  constexpr int kMostAttempts = 1 << 30, kMostDevices = 1024;
  PingRequest out;
  if (!message.is_object()) throw BadRequest("it is no object");
  const auto what = text(message, "do");
  if (what == "describe") {
    out.what = PingRequest::What::kDescribe;
    return out;
  }
  if (what == "end") {
    out.why = text(message, "why");
    return out;
  }
  out.attempt = small_number(message, "attempt", 1, kMostAttempts);
  if (what == "cancel") {
    out.what = PingRequest::What::kCancel;
  } else if (what == "prepare") {
    out.what = PingRequest::What::kPrepare;
    out.hca = text(message, "hca");
    out.dev = small_number(message, "dev", 0, kMostDevices);
  } else if (what == "go") {
    out.what = PingRequest::What::kGo;
    out.handle = handle_of(message);
    const auto& first = member(message, "first");
    if (!first.is_boolean()) throw BadRequest("first is neither true nor false");
    out.first = first;
    out.traffic = traffic_of(member(message, "traffic"));
  } else {
    throw BadRequest("it asks for what there is not");
  }
  return out;
}

}  // namespace nnd::cli
