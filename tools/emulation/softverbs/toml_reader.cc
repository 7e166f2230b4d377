#include "softverbs/toml_reader.h"

#include <algorithm>
#include <sstream>

#include "config/nearest.h"
#include "softverbs/scenario.h"

namespace softverbs {

namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nnd::config::nearest(word, {candidates.begin(), candidates.end()});
  if (!near.empty()) return "; did you mean \"" + near + "\"?";
  std::string all;
  for (const auto& candidate : candidates) all += (all.empty() ? "" : ", ") + candidate;
  return "; there are: " + all;
}

}  // namespace

TomlReader::TomlReader(const toml::table& table, std::string where, const std::string& file,
                       Counters counters)
    : table_(table), where_(std::move(where)), file_(file), counters_(std::move(counters)) {}

const toml::node* TomlReader::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return table_.get(key);
}

bool TomlReader::has(const char* key) { return find(key) != nullptr; }

void TomlReader::fail_at(const toml::source_region& source, const std::string& problem) const {
  std::ostringstream out;
  out << file_ << ":" << source.begin.line << ": " << problem;
  throw ScenarioError(out.str());
}

void TomlReader::fail(const char* key, const std::string& problem) const {
  const toml::node* node = table_.get(key);
  fail_at(node ? node->source() : table_.source(),
          std::string(key) + " of " + where_ + ": " + problem);
}

std::string TomlReader::expanded(const char* key, const std::string& pattern) const {
  try {
    return expand(pattern, counters_);
  } catch (const std::invalid_argument& wrong) {
    fail(key, wrong.what());
  }
}

std::string TomlReader::text(const char* key, const std::string& fallback) {
  const toml::node* node = find(key);
  if (!node) return expanded(key, fallback);
  const auto value = node->value_exact<std::string>();
  if (!value) fail(key, "must be a string");
  return expanded(key, *value);
}

void TomlReader::check_name(const char* key, const std::string& name) const {
  constexpr const char* kSigns =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@+";
  if (name.find_first_not_of(kSigns) != std::string::npos ||
      name.find_first_not_of('.') == std::string::npos)
    fail(key, "a name has letters, digits and . _ - : @ +");
}

std::string TomlReader::name(const char* key, const std::string& fallback) {
  auto out = text(key, fallback);
  check_name(key, out);
  return out;
}

std::int64_t TomlReader::number(const char* key, std::int64_t fallback, std::int64_t low,
                                std::int64_t high) {
  const toml::node* node = find(key);
  if (!node) return fallback;
  const auto value = node->value_exact<std::int64_t>();
  if (!value || *value < low || *value > high)
    fail(key, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return *value;
}

bool TomlReader::flag(const char* key, bool fallback) {
  const toml::node* node = find(key);
  if (!node) return fallback;
  const auto value = node->value_exact<bool>();
  if (!value) fail(key, "must be true or false");
  return *value;
}

std::vector<std::string> TomlReader::texts(const char* key) {
  const toml::node* node = find(key);
  if (!node) return {};
  if (const auto single = node->value_exact<std::string>()) return {expanded(key, *single)};
  const toml::array* array = node->as_array();
  if (!array) fail(key, "must be a string or an array of strings");
  std::vector<std::string> out;
  for (const auto& element : *array) {
    const auto value = element.value_exact<std::string>();
    if (!value) fail(key, "must be a string or an array of strings");
    out.push_back(expanded(key, *value));
  }
  return out;
}

int TomlReader::word(const char* key, int fallback,
                     const std::vector<std::pair<std::string, int>>& words) {
  const toml::node* node = find(key);
  if (!node) return fallback;
  const auto value = node->value_exact<std::string>();
  if (!value) fail(key, "must be a string");
  std::vector<std::string> names;
  for (const auto& [name, number] : words) {
    if (name == *value) return number;
    names.push_back(name);
  }
  fail(key, "\"" + *value + "\" is not known" + did_you_mean(*value, names));
}

void TomlReader::tables(const char* key, const std::function<void(const toml::table&)>& each) {
  const toml::node* node = find(key);
  if (!node) return;
  const toml::array* array = node->as_array();
  if (!array || !array->is_homogeneous(toml::node_type::table))
    fail(key, std::string("must be written as [[…") + key + "]]");
  for (const auto& element : *array) each(*element.as_table());
}

const toml::table* TomlReader::table(const char* key) {
  const toml::node* node = find(key);
  if (!node) return nullptr;
  if (!node->is_table()) fail(key, "must be a table");
  return node->as_table();
}

void TomlReader::finish() const {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    fail_at(key.source(),
            name + " of " + where_ + ": there is no such key" + did_you_mean(name, known_));
  }
}

}  // namespace softverbs
