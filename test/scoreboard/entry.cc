#include "scoreboard/entry.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "config/toml.h"

namespace nnd::scoreboard {

namespace {

// One table of the file; a key that nobody asked for is a mistake.
class Reader {
 public:
  Reader(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  std::string text(const char* key, std::string otherwise = {}) {
    return value<std::string>(key, std::move(otherwise));
  }
  int number(const char* key, int otherwise) { return value<int>(key, otherwise); }
  bool flag(const char* key) { return value<bool>(key, false); }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    known_.insert(key);
    if (const toml::array* all = table_[key].as_array())
      for (const toml::node& one : *all) out.push_back(one.value_or(std::string()));
    return out;
  }
  Environment pairs(const char* key) {
    Environment out;
    known_.insert(key);
    if (const toml::table* all = table_[key].as_table())
      for (const auto& [name, one] : *all)
        out[std::string(name.str())] = one.value_or(std::string());
    return out;
  }
  const toml::table* table(const char* key) {
    known_.insert(key);
    return table_[key].as_table();
  }
  void finish() const {
    for (const auto& [key, one] : table_)
      if (!known_.contains(std::string(key.str())))
        throw std::runtime_error(
            fmt::format("line {}: {}: unknown key {}", one.source().begin.line, name_, key.str()));
  }

 private:
  template <typename T>
  T value(const char* key, T otherwise) {
    known_.insert(key);
    return table_[key].value_or(std::move(otherwise));
  }

  const toml::table& table_;
  std::string name_;
  std::set<std::string> known_;
};

World read_world(const toml::table& table, const std::string& name) {
  Reader reader(table, name);
  World out;
  out.scenario = reader.text("scenario");
  out.environment = reader.pairs("env");
  out.nodes = reader.number("nodes", 2);
  out.gpus = reader.number("gpus", 1);
  out.job = reader.text("job", "collectives");
  out.nccl = reader.text("nccl");
  out.tolerate = reader.texts("tolerate");
  reader.finish();
  return out;
}

Expected read_expected(const toml::table& table, const std::string& name) {
  Reader reader(table, name);
  Expected out;
  out.event = reader.text("event");
  out.cause = reader.text("cause", name);
  out.severity = reader.text("severity", "warn");
  out.device = reader.text("device");
  out.peer = reader.text("peer");
  out.remedy = reader.text("remedy");
  out.says = reader.text("says");
  reader.finish();
  return out;
}

// By default what the event has.
Headline read_headline(const toml::table* table, const Expected& expected) {
  if (table == nullptr)
    return {expected.cause, expected.device, "", expected.severity == "error" ? 1 : 0};
  Reader reader(*table, expected.cause);
  Headline out;
  out.cause = reader.text("cause", expected.cause);
  out.device = reader.text("device", expected.device);
  out.says = reader.text("says");
  out.exit_code = reader.number("exit_code", expected.severity == "error" ? 1 : 0);
  reader.finish();
  return out;
}

Entry read_entry(const toml::table& table, const std::map<std::string, World>& worlds) {
  Reader reader(table, "entry");
  Entry out;
  out.id = reader.text("id");
  out.played = reader.text("played");
  out.unseen = reader.text("unseen");
  out.instead = reader.text("instead");
  out.test = reader.text("test");
  out.stop = reader.flag("stop");
  out.policy = reader.text("policy");
  if (const std::string world = reader.text("world", "rails"); worlds.contains(world))
    out.healthy = worlds.at(world);
  else
    throw std::runtime_error(fmt::format("{}: there is no world {}", out.id, world));
  for (const auto& [name, value] : reader.pairs("healthy_env"))
    out.healthy.environment[name] = value;
  out.faulty = out.healthy;
  out.faulty.scenario = reader.text("scenario", out.healthy.scenario) + reader.text("add");
  out.faulty.job = reader.text("job", out.healthy.job);
  for (const auto& [name, value] : reader.pairs("env")) out.faulty.environment[name] = value;
  if (const auto own = reader.pairs("env_of_node1"); !own.empty()) out.faulty.of_nodes = {{}, own};
  if (const toml::table* expected = reader.table("expect"))
    out.expected = read_expected(*expected, out.id);
  out.headline = read_headline(reader.table("headline"), out.expected);
  reader.finish();
  return out;
}

}  // namespace

std::vector<Entry> read_entries(const std::filesystem::path& file) {
  const toml::parse_result parsed = toml::parse_file(file.string());
  if (!parsed)
    throw std::runtime_error(fmt::format("{}:{}: {}", file.string(),
                                         parsed.error().source().begin.line,
                                         parsed.error().description()));
  std::map<std::string, World> worlds;
  if (const toml::table* all = parsed.table()["world"].as_table())
    for (const auto& [name, one] : *all)
      worlds.emplace(std::string(name.str()), read_world(*one.as_table(), std::string(name.str())));
  std::vector<Entry> out;
  if (const toml::array* all = parsed.table()["entry"].as_array())
    for (const toml::node& one : *all) out.push_back(read_entry(*one.as_table(), worlds));
  return out;
}

}  // namespace nnd::scoreboard
