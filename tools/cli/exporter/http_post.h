// One POST over HTTP/1.1, to a receiver that may be gone, slow, or talk without end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/exporter/http_url.h"

namespace nnd::cli {

struct Posted {
  unsigned status = 0;        // 0: there was no answer
  std::string why = {};       // then
  std::string location = {};  // where it is said to be now
  std::optional<unsigned> retry_after_sec = {};
  std::string body = {};  // as much of it as kMostAnswer has
};

inline constexpr std::size_t kMostAnswer = 65536;  // bytes of an answer, its head with it

// Takes `longest` at most, but for the search of the host's name, and ends within 50 ms of `stop`.
Posted post_json(const HttpUrl& to, std::string_view body, std::chrono::milliseconds longest,
                 const std::atomic<bool>& stop);

// What an answer says that has come as far as this, `ended`: to its end. Nothing: not enough yet.
std::optional<Posted> read_answer(std::string_view text, bool ended);

}  // namespace nnd::cli
