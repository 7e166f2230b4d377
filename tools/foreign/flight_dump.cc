#include "foreign/flight_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "foreign/json_values.h"
#include "foreign/pickle.h"
#include "foreign/python_frame.h"

namespace nnd::foreign {

using Kind = PickleValue::Kind;

namespace {

constexpr std::size_t kMostUnfinished = 64;  // the first ones are looked at

// The keys are those of torch/csrc/distributed/c10d/FlightRecorder.hpp,
// versions 2.3 to 2.10.
std::string dict_text(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  const auto* const value = pickle.find(dict, key);
  return value != nullptr && value->kind == Kind::kText ? std::string(value->text) : std::string();
}

std::int64_t dict_number(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  const auto* const value = pickle.find(dict, key);
  return value != nullptr && value->kind == Kind::kInt ? value->number : 0;
}

bool dict_truth(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  const auto* const value = pickle.find(dict, key);
  return value != nullptr && value->kind == Kind::kBool && value->number != 0;
}

// "[0, 1, 2]"
std::vector<int> ranks_in(std::string_view text) {
  std::vector<int> out;
  while (!text.empty()) {
    const auto begin = text.find_first_of("0123456789");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    int rank = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (read.ec != std::errc()) break;
    out.push_back(rank);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  }
  return out;
}

std::optional<int> rank_in(const std::string& file) {
  const auto digits = file.find_last_not_of("0123456789") + 1;
  int out = 0;
  const auto read = std::from_chars(file.data() + digits, file.data() + file.size(), out);
  return read.ec == std::errc() ? std::optional(out) : std::nullopt;
}

// The innermost frame of the program itself.
std::string place_of(const Pickle& pickle, const PickleValue& entry) {
  const auto* const frames = pickle.find(entry, "frames");
  if (frames == nullptr || frames->kind != Kind::kList) return {};
  for (const auto index : frames->items) {
    const auto& frame = pickle.at(index);
    const auto file = dict_text(pickle, frame, "filename");
    if (file.empty() || is_of_torch(file)) continue;
    return frame_text(file, dict_number(pickle, frame, "line"), dict_text(pickle, frame, "name"));
  }
  return {};
}

// "[65536] Float"
std::string sizes_of(const Pickle& pickle, const PickleValue& entry) {
  std::string out;
  if (const auto* const all = pickle.find(entry, "input_sizes");
      all != nullptr && all->kind == Kind::kList)
    for (const auto one : all->items) {
      std::vector<std::int64_t> dimensions;
      for (const auto item : pickle.at(one).items) dimensions.push_back(pickle.at(item).number);
      out += fmt::format("{}[{}]", out.empty() ? "" : " ", fmt::join(dimensions, ", "));
    }
  if (const auto* const types = pickle.find(entry, "input_dtypes");
      types != nullptr && types->kind == Kind::kList && !types->items.empty())
    out += fmt::format(" {}", pickle.at(types->items.front()).text);
  return out;
}

// "nccl:all_reduce"
std::string without_backend(std::string name) { return name.substr(name.find(':') + 1); }

FlightGroup& group_of(FlightDump& dump, const std::string& name, const std::string& description) {
  const auto known = std::find_if(dump.groups.begin(), dump.groups.end(),
                                  [&](const FlightGroup& group) { return group.name == name; });
  if (known != dump.groups.end()) return *known;
  auto& out = dump.groups.emplace_back();
  out.name = name;
  out.description = description;
  return out;
}

void take_groups(const Pickle& pickle, FlightDump& dump) {
  const auto* const config = pickle.find(pickle.root(), "pg_config");
  if (config == nullptr || config->kind != Kind::kDict) return;
  for (std::size_t i = 1; i < config->items.size(); i += 2) {
    const auto& one = pickle.at(config->items[i]);
    auto& group = group_of(dump, dict_text(pickle, one, "name"), dict_text(pickle, one, "desc"));
    group.ranks = ranks_in(dict_text(pickle, one, "ranks"));
  }
}

void take_call(const Pickle& pickle, const PickleValue& entry, FlightDump& dump) {
  const auto* const names = pickle.find(entry, "process_group");
  if (names == nullptr || names->kind != Kind::kList || names->items.size() != 2 ||
      dict_truth(pickle, entry, "is_p2p"))
    return;
  auto& group = group_of(dump, std::string(pickle.at(names->items[0]).text),
                         std::string(pickle.at(names->items[1]).text));
  FlightCall call;
  call.seq = dict_number(pickle, entry, "collective_seq_id");
  call.what = without_backend(dict_text(pickle, entry, "profiling_name"));
  call.state = dict_text(pickle, entry, "state");
  call.sizes = sizes_of(pickle, entry);
  call.place = place_of(pickle, entry);
  const auto made_ns = dict_number(pickle, entry, "time_created_ns");
  dump.first_ns = dump.first_ns == 0 ? made_ns : std::min(dump.first_ns, made_ns);
  dump.last_ns = std::max(dump.last_ns, made_ns);
  if (call.state != "completed" && group.unfinished.size() < kMostUnfinished)
    group.unfinished.push_back(call);
  if (call.seq >= group.last.seq) group.last = std::move(call);
}

// A dump as JSON leaves out entries that are none (FlightRecorderDetail.hpp, dump_json).
std::optional<FlightDump> dump_of(const Pickle& pickle) {
  const auto& root = pickle.root();
  const auto* const entries = pickle.find(root, "entries");
  const bool empty = entries == nullptr && pickle.find(root, "pg_config") != nullptr;
  if ((!empty && (entries == nullptr || entries->kind != Kind::kList)) ||
      pickle.find(root, "version") == nullptr)
    return {};
  FlightDump out;
  out.version = dict_text(pickle, root, "version");
  take_groups(pickle, out);
  if (!empty)
    for (const auto index : entries->items) take_call(pickle, pickle.at(index), out);
  return out;
}

}  // namespace

std::optional<FlightDump> read_flight_dump(const std::string& file, std::string_view bytes) {
  auto out = dump_of(Pickle(bytes));
  if (!out) return {};
  out->file = file;
  out->rank = rank_in(file);
  return out;
}

bool may_be_flight_json(std::string_view begin) {
  return begin.find("\"pg_config\"") != std::string_view::npos ||
         begin.find("\"collective_seq_id\"") != std::string_view::npos;
}

std::optional<FlightDump> read_flight_json(const std::string& file, std::string_view bytes) {
  auto out = dump_of(JsonValues(bytes).get());
  if (!out) return {};
  out->file = file;
  out->rank = rank_in(file.ends_with(".json") ? file.substr(0, file.size() - 5) : file);
  return out;
}

}  // namespace nnd::foreign
