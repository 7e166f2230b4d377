#include "cli/preflight/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "cli/common/call_error.h"
#include "cli/common/checked_json.h"
#include "cli/common/exit_code.h"
#include "cli/common/printable.h"
#include "config/text_file.h"
#include "log/natural_order.h"

namespace nnd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20;  // bytes of a file
constexpr std::size_t kMostNodes = 65536;
constexpr int kDeepest = 32;  // of what a check prints

// "node3" of "node3: {"; empty: the line has no label.
std::string label_of(const std::string& line) {
  const auto end = line.find(": ");
  if (end == std::string::npos || end == 0) return {};
  const bool name =
      line.find_first_not_of(
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._- ") >= end;
  return name ? line.substr(0, end) : std::string();
}

bool is_labelled(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] != '{' &&
         !label_of(text.substr(first, text.find('\n', first) - first)).empty();
}

std::vector<std::string> without_labels(const std::string& text) {
  std::map<std::string, std::string> by_label;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (const auto label = label_of(line); !label.empty())
      by_label[label] += line.substr(label.size() + 2) + "\n";
  std::vector<std::string> out;
  for (auto& [label, lines] : by_label) out.push_back(std::move(lines));
  return out;
}

void add_objects(const std::string& text, std::vector<std::string>& out) {
  int depth = 0;
  bool in_text = false, escaped = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      in_text = escaped || c != '"';
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_text = depth > 0;
    } else if (c == '{') {
      if (depth++ == 0) start = i;
    } else if (c == '}' && depth > 0 && --depth == 0) {
      out.push_back(text.substr(start, i + 1 - start));
    }
  }
  if (depth > 0) out.push_back(text.substr(start));
}

json parsed(const std::string& text) {
  const auto too_deep = [](int depth, json::parse_event_t event, const json&) {
    if (depth > kDeepest &&
        (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start))
      throw BadMessage("it is nested too deeply");
    return true;
  };
  auto out = json::parse(text, too_deep, false);
  if (out.is_discarded()) throw BadMessage("it is no JSON, or breaks off");
  return out;
}

std::vector<std::string> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      out.push_back(path == "-" ? "/dev/stdin" : path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.is_regular_file(error)) inside.push_back(entry.path().string());
    if (error)
      throw CallError(kWrongCall, "path", fmt::format("{}: {}", path, error.message()), path);
    std::sort(inside.begin(), inside.end(), log::natural_less);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

}  // namespace

std::vector<std::string> objects_in(const std::string& text) {
  std::vector<std::string> out;
  if (!is_labelled(text)) {
    add_objects(text, out);
    return out;
  }
  for (const auto& one : without_labels(text)) add_objects(one, out);
  return out;
}

SavedNodes saved_nodes(const std::vector<std::string>& paths) {
  SavedNodes out;
  std::map<std::string, std::size_t> by_host;
  for (const auto& file : files_in(paths)) {
    const auto read = config::read_text_file(file, "check's result", kLargest,
                                             config::AllowedFileType::kRegularOrPipe);
    if (!read.problem.empty())
      throw CallError(kWrongCall, "path", printable(file) + " " + read.problem, file);
    const auto objects = objects_in(read.text);
    if (objects.empty()) out.problems.push_back(printable(file) + " holds no JSON object.");
    for (const auto& text : objects) {
      try {
        Node node = node_from(parsed(text));
        const auto [found, is_new] = by_host.emplace(node.host(), out.nodes.size());
        if (!is_new)
          out.nodes[found->second] = std::move(node);
        else
          out.nodes.push_back(std::move(node));
      } catch (const BadMessage& bad) {
        out.problems.push_back(fmt::format("{} is not what nccl-net-diag check --json prints: {}.",
                                           printable(file), bad.what()));
      }
      if (out.nodes.size() > kMostNodes)
        throw CallError(kWrongCall, "path", fmt::format("more than {} nodes", kMostNodes));
    }
  }
  if (out.nodes.empty())
    throw CallError(
        kNotExamined, "path",
        out.problems.empty() ? "there is nothing of a node in it" : out.problems.front());
  return out;
}

}  // namespace nnd::cli
