// Reads one TOML table and knows which keys were asked for, so that what is left over is named as
// an error with its line and the nearest key there is.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/toml.h"
#include "softverbs/pattern.h"

namespace softverbs {

class TomlReader {
 public:
  // where: how the table is called in messages, such as "[[host.hca]]". Keeps references.
  TomlReader(const toml::table& table, std::string where, const std::string& file,
             Counters counters = {});

  std::string text(const char* key, const std::string& fallback);
  // One that is part of a file's name, too.
  std::string name(const char* key, const std::string& fallback);
  void check_name(const char* key, const std::string& name) const;
  std::int64_t number(const char* key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  bool flag(const char* key, bool fallback);
  std::vector<std::string> texts(const char* key);  // one string or an array of them
  // One of the words, as its value.
  int word(const char* key, int fallback, const std::vector<std::pair<std::string, int>>& words);
  bool has(const char* key);

  // Calls once for each table of [[…key]].
  void tables(const char* key, const std::function<void(const toml::table&)>& each);
  const toml::table* table(const char* key);

  const Counters& counters() const { return counters_; }
  [[noreturn]] void fail(const char* key, const std::string& problem) const;
  void finish() const;  // throws when keys are left that nobody asked for

 private:
  const toml::node* find(const char* key);
  std::string expanded(const char* key, const std::string& pattern) const;
  [[noreturn]] void fail_at(const toml::source_region& source, const std::string& problem) const;

  const toml::table& table_;
  std::string where_;
  const std::string& file_;
  Counters counters_;
  std::vector<std::string> known_;
};

}  // namespace softverbs
