#include "foreign/ras_status.h"

#include <simdjson.h>
#include <time.h>

#include "foreign/json_text.h"

namespace nnd::foreign {

namespace {

namespace dom = simdjson::dom;

// Without RAS's "OK" to SET FORMAT, which is there where the answer was saved as it came.
std::string_view answered_json(std::string_view bytes) {
  if (bytes.starts_with("OK\n")) bytes.remove_prefix(3);
  return bytes.starts_with('{') ? bytes : std::string_view();
}

// Of a rank that is missing 2.28.9 writes a number and the next key with no comma between them.
std::string with_commas(std::string_view json) {
  std::string out;
  char before = ' ';
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char here = json[i];
    if (quoted && here == '\\' && i + 1 < json.size()) {
      out += here;
      out += json[++i];
      continue;
    }
    if (here == '"') {
      if (!quoted && before >= '0' && before <= '9') out += ',';
      quoted = !quoted;
    }
    out += here;
    if (here != ' ' && here != '\n') before = here;
  }
  return out;
}

bool is_set(const dom::object& object, const char* key) {
  bool out = false;
  return object[key].get(out) == simdjson::SUCCESS && out;
}

// 0: it is no time.
std::int64_t seconds_of(const std::string& time) {
  tm parts{};
  const char* const end = ::strptime(time.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
  return end == nullptr || *end != '\0' ? 0 : ::timegm(&parts);
}

// Calls take(object) for each of the array of that name.
template <typename Take>
void for_each(const dom::object& object, const char* key, const Take& take) {
  dom::array all;
  if (object[key].get(all) != simdjson::SUCCESS) return;
  for (const dom::element one : all) {
    dom::object inner;
    if (one.get(inner) == simdjson::SUCCESS) take(inner);
  }
}

template <typename Rank>
Rank process_of(const dom::object& object) {
  Rank out;
  out.rank = int_of(object, "rank", -1);
  out.host = text_of(object, "host");
  out.pid = number_of(object, "pid", 0);
  return out;
}

RasRank rank_of(const dom::object& object) {
  auto out = process_of<RasRank>(object);
  dom::object part;
  if (object["status"].get(part) == simdjson::SUCCESS) {
    out.init_state = int_of(part, "init_state", 0);
    out.async_error = int_of(part, "async_error", 0);
    out.aborted = is_set(part, "abort_flag");
  }
  if (object["collective_counts"].get(part) == simdjson::SUCCESS)
    for (const auto [kind, count] : part) {
      std::uint64_t begun = 0;
      if (count.get(begun) == simdjson::SUCCESS) out.begun[std::string(kind)] = begun;
    }
  return out;
}

RasMissing missing_of(const dom::object& object) {
  auto out = process_of<RasMissing>(object);
  dom::object part;
  if (object["status"].get(part) == simdjson::SUCCESS) out.dead = is_set(part, "considered_dead");
  return out;
}

}  // namespace

bool may_be_ras_status(std::string_view begin) {
  constexpr std::size_t kHead = 512;
  return answered_json(begin).substr(0, kHead).find("\"communicators_count\"") !=
         std::string_view::npos;
}

// NCCL 2.28.7, src/ras/client_support.cc, and the answers of 2.28.9 to 2.32.3.
std::optional<RasStatus> read_ras_status(const std::string& file, std::string_view bytes) {
  dom::parser parser;
  dom::object root;
  dom::array communicators;
  const auto json = with_commas(answered_json(bytes));
  if (parser.parse(json).get(root) != simdjson::SUCCESS ||
      root["communicators"].get(communicators) != simdjson::SUCCESS)
    return {};
  RasStatus out;
  out.file = file;
  out.nccl = text_of(root, "nccl_version");
  out.time = text_of(root, "timestamp");
  out.at_sec = seconds_of(out.time);
  for_each(root, "communicators", [&](const dom::object& object) {
    auto& one = out.communicators.emplace_back();
    one.hash = text_of(object, "hash");
    one.size = int_of(object, "size", 0);
    for_each(object, "ranks", [&](const dom::object& rank) { one.ranks.push_back(rank_of(rank)); });
    for_each(object, "missing_ranks",
             [&](const dom::object& rank) { one.missing.push_back(missing_of(rank)); });
  });
  return out;
}

}  // namespace nnd::foreign
