#include "foreign/python_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace nnd::foreign {

namespace {

template <std::size_t N>
bool holds_any(std::string_view file, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
}

// Of Python itself, or of a package that is installed.
bool is_of_python(std::string_view file) {
  constexpr std::array<std::string_view, 2> kParts{"<frozen ", "/lib/python3"};
  return holds_any(file, kParts);
}

}  // namespace

bool is_of_torch(std::string_view file) {
  constexpr std::array<std::string_view, 6> kParts{"/torch/distributed/", "/torch/nn/",
                                                   "/torch/optim/",       "/torch/utils/",
                                                   "/torch/autograd/",    "/torch/_"};
  return holds_any(file, kParts);
}

std::string frame_text(std::string_view file, std::int64_t line, std::string_view function) {
  return fmt::format("{}:{} in {}", file.substr(file.rfind('/') + 1), line, function);
}

// Lines of '  File "/home/me/train.py", line 212, in step', the innermost last.
std::string frame_of_traceback(std::string_view traceback) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = ", in ";
  std::string out;
  while (!traceback.empty()) {
    auto line = traceback.substr(0, traceback.find('\n'));
    traceback.remove_prefix(std::min(line.size() + 1, traceback.size()));
    if (!line.starts_with(kFile)) continue;
    line.remove_prefix(kFile.size());
    const auto end = line.find(kLine);
    if (end == std::string_view::npos) continue;
    const auto file = line.substr(0, end);
    line.remove_prefix(end + kLine.size());
    std::int64_t number = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    if (read.ec != std::errc() || !line.starts_with(kIn) || is_of_torch(file) || is_of_python(file))
      continue;
    out = frame_text(file, number, line.substr(kIn.size()));
  }
  return out;
}

}  // namespace nnd::foreign
