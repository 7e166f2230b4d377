#include "policy/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.h"
#include "config/text_file.h"
#include "config/toml.h"
#include "config/toml_text.h"
#include "policy/keys.h"

namespace nnd::policy {

namespace {

std::optional<Value> to_value(const toml::node& node) {
  if (const auto* text = node.as_string()) return Value(text->get());
  if (const auto* flag = node.as_boolean()) return Value(flag->get());
  if (const auto* number = node.as_integer()) return Value(static_cast<long>(number->get()));
  if (const auto* number = node.as_floating_point()) return Value(number->get());
  const auto* array = node.as_array();
  if (!array) return std::nullopt;
  std::vector<std::string> out;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (!text) return std::nullopt;
    out.push_back(text->get());
  }
  return Value(std::move(out));
}

// What a wrong key may have meant: a whole key, or on the top level a section as well.
std::vector<std::string_view> words_near(std::string_view wrong) {
  std::vector<std::string_view> out;
  for (const Key& key : keys()) out.push_back(key.name);
  if (wrong.find('.') == std::string_view::npos)
    for (const std::string_view name :
         {"hca", "roce", "pair", "gdr", "limits", "fallback", "connect", "override"})
      out.push_back(name);
  return out;
}

bool is_section(std::string_view name) {
  return std::any_of(keys().begin(), keys().end(), [name](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) &&
           key.name[name.size()] == '.';
  });
}

class Loader {
 public:
  explicit Loader(std::string file) : file_(std::move(file)) { out_.policy.source = file_; }

  Loaded load(std::string_view text) {
    if (const unsigned line = config::line_of_foreign_character(text); line != 0) {
      fail(line, "", "a character that is not ASCII, outside of a comment");
      fall_back();
      return std::move(out_);
    }
    if (const unsigned line = config::line_of_deep_key(text); line != 0) {
      fail(line, "", "a key of more than 32 parts");
      fall_back();
      return std::move(out_);
    }
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
      const toml::parse_error& error = parsed.error();
      fail(error.source().begin.line, "", error.description());
    } else {
      read_top(parsed.table());
      look_for_dead_rules(parsed.table());
    }
    if (!out_.errors.empty()) fall_back();
    return std::move(out_);
  }

 private:
  using Sink = std::function<void(std::function<void(Policy&)>)>;

  // The built-in rules, in the mode that the file asks for: with a mistake elsewhere in it a file
  // that enforces must not become one that only warns. Whoever misspells the mode may rely on it.
  void fall_back() {
    Policy built_in;
    built_in.source = file_;
    built_in.mode_given = out_.policy.mode_given;
    built_in.mode = out_.policy.mode;
    built_in.locked = out_.policy.locked ||
                      std::any_of(out_.errors.begin(), out_.errors.end(),
                                  [](const LoadError& error) { return error.key == "locked"; });
    if (std::any_of(out_.errors.begin(), out_.errors.end(),
                    [](const LoadError& error) { return error.key == "mode"; })) {
      built_in.mode = Mode::kEnforce;
      built_in.mode_given = true;
    }
    out_.policy = std::move(built_in);
  }

  void fail(unsigned line, std::string_view key, std::string_view problem,
            std::string nearest = {}) {
    out_.errors.push_back(
        {file_, line, config::one_line(key), config::one_line(problem), std::move(nearest)});
  }
  static unsigned line_of(const toml::node& node) { return node.source().begin.line; }

  void read_top(const toml::table& root) {
    const auto apply = [this](const std::function<void(Policy&)>& change) { change(out_.policy); };
    for (const auto& [key, node] : root) {
      const std::string_view name = key.str();
      if (name == "override")
        read_overrides(node);
      else
        read_entry(std::string(name), node, key.source().begin.line, nullptr, apply);
    }
  }

  void read_entry(const std::string& name, const toml::node& node, unsigned line,
                  const Override* within, const Sink& sink) {
    if (const auto* table = node.as_table(); table && is_section(name)) {
      for (const auto& [key, below] : *table)
        read_entry(name + '.' + std::string(key.str()), below, key.source().begin.line, within,
                   sink);
      return;
    }
    const Key* key = find_key(name);
    if (!key) {
      fail(line, name, is_section(name) ? "is a section" : "unknown key",
           config::nearest(name, words_near(name)));
      return;
    }
    if (within && (name == "mode" || name == "locked"))
      return fail(line, name, "can't be overridden");
    if (within && !within->device.empty() && !key->per_device)
      return fail(line, name, "is of the whole node: an override with `device` can't change it");
    const auto value = to_value(node);
    if (!value) return fail(line, name, fmt::format("must be {}", key->values));
    Applied applied = key->read(*value);
    if (!applied.change) return fail(line, name, applied.problem, applied.nearest);
    sink(std::move(applied.change));
  }

  void read_overrides(const toml::node& node) {
    const auto* array = node.as_array();
    if (!array || array->empty() ||
        !std::all_of(array->begin(), array->end(),
                     [](const toml::node& element) { return element.is_table(); }))
      return fail(line_of(node), "override", "must be an array of tables: [[override]]");
    for (const toml::node& element : *array) read_override(*element.as_table());
  }

  void read_override(const toml::table& table) {
    Override rule;
    for (const auto& [name, glob] :
         {std::pair<const char*, std::string*>{"host", &rule.host}, {"device", &rule.device}}) {
      const toml::node* node = table.get(name);
      if (!node) continue;
      const auto* text = node->as_string();
      if (!text || text->get().empty())
        fail(line_of(*node), fmt::format("override.{}", name), "must be a name or a glob");
      else
        *glob = text->get();
    }
    const auto keep = [&rule](std::function<void(Policy&)> change) {
      rule.changes.push_back(std::move(change));
    };
    const std::size_t before = out_.errors.size();
    for (const auto& [key, node] : table)
      if (key.str() != "host" && key.str() != "device")
        read_entry(std::string(key.str()), node, key.source().begin.line, &rule, keep);
    if (!table.contains("host") && !table.contains("device"))
      fail(line_of(table), "override", "needs `host` or `device`");
    else if (rule.changes.empty() && out_.errors.size() == before)
      fail(line_of(table), "override", "changes nothing");
    out_.policy.overrides.push_back(std::move(rule));
  }

  // What the file says twice in opposite ways can't be meant.
  void look_for_dead_rules(const toml::table& root) {
    const HcaRules& hca = out_.policy.hca;
    const toml::node* section = root.get("hca");
    const unsigned line = section ? line_of(*section) : 0;
    for (const std::string& name : hca.allow)
      if (std::find(hca.deny.begin(), hca.deny.end(), name) != hca.deny.end())
        fail(line, "hca.allow", fmt::format("\"{}\" is denied as well and can never match", name));
    if (std::find(hca.deny.begin(), hca.deny.end(), "*") != hca.deny.end())
      fail(line, "hca.deny", "\"*\" leaves no HCA");
  }

  std::string file_;
  Loaded out_;
};

}  // namespace

std::string LoadError::text() const {
  std::string out = file;
  if (line != 0) out += fmt::format(":{}", line);
  if (!key.empty()) out += ": " + key;
  out += ": " + problem;
  if (!nearest.empty()) out += fmt::format("; did you mean {}?", nearest);
  return out;
}

Loaded load_policy_text(std::string_view text, const std::string& file) {
  return Loader(file).load(text);
}

Loaded load_policy_file(const std::string& file) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  using config::AllowedFileType;
  const auto read = config::read_text_file(file, "policy", kLargest, AllowedFileType::kRegular);
  if (read.problem.empty()) return load_policy_text(read.text, file);
  Loaded out;
  out.errors.push_back({file, 0, "", read.problem, ""});
  return out;
}

std::vector<KeyDoc> key_docs() {
  std::vector<KeyDoc> out;
  for (const Key& key : keys()) out.push_back({key.name, key.values, key.meaning});
  return out;
}

}  // namespace nnd::policy
