#include "foreign/torch_error.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "foreign/json_text.h"
#include "foreign/python_frame.h"

namespace nnd::foreign {

namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLongest = 512;  // of what is kept of a text

// The number of the directory that it lies in.
std::optional<int> rank_in(const std::string& file) {
  const auto end = file.rfind('/');
  if (end == std::string::npos || end == 0) return {};
  const auto begin = file.rfind('/', end - 1) + 1;
  int out = 0;
  const char* const last = file.data() + end;
  const auto read = std::from_chars(file.data() + begin, last, out);
  return read.ec == std::errc() && read.ptr == last && out >= 0 ? std::optional(out) : std::nullopt;
}

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kLongest));
}

// The time is a number, or one as text.
std::int64_t time_of(const dom::object& object) {
  std::int64_t out = 0;
  if (object["timestamp"].get(out) == simdjson::SUCCESS) return out;
  return number_in(text_of(object, "timestamp"));
}

}  // namespace

bool may_be_torch_error(std::string_view begin) {
  const auto first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{' &&
         begin.substr(0, kLongest).find("\"message\"") != std::string_view::npos;
}

// torch/distributed/elastic/multiprocessing/errors of PyTorch: error_handler.py writes {"message":
// {"message", "extraInfo": {"py_callstack", "timestamp"}}}; __init__.py also reads a message that
// is a text, with the timestamp beside it.
std::optional<Fact> read_torch_error(const std::string& file, std::string_view bytes) {
  dom::parser parser;
  dom::object root;
  if (parser.parse(bytes.data(), bytes.size()).get(root) != simdjson::SUCCESS) return {};
  Fact out;
  out.what = What::kRaised;
  out.source = Source::kErrorFile;
  out.utc = true;
  out.file = file;
  out.line = 1;
  out.writer.rank = rank_in(file);
  out.on_node = true;
  dom::object message, extra;
  if (root["message"].get(message) == simdjson::SUCCESS) {
    out.text = first_line(text_of(message, "message"));
    if (message["extraInfo"].get(extra) == simdjson::SUCCESS) {
      out.at_sec = time_of(extra);
      out.place = frame_of_traceback(text_of(extra, "py_callstack"));
    }
  } else {
    const auto text = text_of(root, "message");
    if (root["timestamp"].error() != simdjson::SUCCESS) return {};
    out.text = first_line(text);
    out.at_sec = time_of(root);
  }
  constexpr std::int64_t kLatest = 7'000'000'000;
  if (out.text.empty() || out.at_sec < 0 || out.at_sec > kLatest) return {};
  return out;
}

}  // namespace nnd::foreign
