#include "foreign/inspector.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "foreign/json_text.h"

namespace nnd::foreign {

namespace dom = simdjson::dom;

namespace {

constexpr std::size_t kMostCollectives = 1 << 16;

}  // namespace

struct Inspector::Parser {
  dom::parser json;
};

Inspector::Inspector() : parser_(std::make_unique<Parser>()) {}
Inspector::~Inspector() = default;

bool may_be_inspector(std::string_view begin) {
  const auto line = begin.substr(0, begin.find('\n'));
  return line.starts_with('{') &&
         line.find("\"inspector_output_format_version\"") != std::string_view::npos;
}

// NCCL v2.28.3-1 to v2.29.3-1 ext-profiler/inspector/inspector.cc, v2.30.7-1
// plugins/profiler/inspector/inspector_json.cc.
bool Inspector::take(std::string_view line) {
  constexpr std::int64_t kLongestUs = std::int64_t{1} << 40, kMostBytes = std::int64_t{1} << 56;
  dom::object root, part;
  if (parser_->json.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS) return false;
  if (root["header"].get(part) == simdjson::SUCCESS)
    header_ = {text_of(part, "id"), text_of(part, "comm_name"),
               std::max(int_of(part, "rank", -1), -1), std::max(int_of(part, "n_ranks", 0), 0)};
  if (header_.comm.empty() || root["coll_perf"].get(part) != simdjson::SUCCESS) return false;
  const std::string collective = text_of(part, "coll");
  const auto bytes = number_of(part, "coll_msg_size_bytes", -1);
  const auto us = number_of(part, "coll_exec_time_us", 0);
  if (collective.empty() || us <= 0 || us > kLongestUs || bytes < 0 || bytes > kMostBytes)
    return false;
  const auto size = static_cast<std::uint64_t>(bytes);
  const Key key{header_.comm, header_.rank, collective, std::bit_floor(size | 1)};
  if (all_.size() >= kMostCollectives && !all_.contains(key)) return false;
  Inspected& one = all_[key];
  if (one.busy.calls == 0)
    one = {header_.comm,
           header_.name == "unknown" ? "" : header_.name,
           header_.rank,
           header_.nranks,
           collective,
           std::get<std::uint64_t>(key),
           {}};
  one.busy += {1, size, 1000 * static_cast<std::uint64_t>(us)};
  return true;
}

std::vector<Inspected> Inspector::take_all() {
  std::vector<Inspected> out;
  for (auto& [key, one] : std::exchange(all_, {})) out.push_back(std::move(one));
  return out;
}

}  // namespace nnd::foreign
