#include "foreign/traceback.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "foreign/output_prefix.h"
#include "foreign/python_frame.h"

namespace nnd::foreign {

namespace {

constexpr std::string_view kBegin = "Traceback (most recent call last):", kFrame = "  File \"";

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// "KeyError: 'x'", "torch.OutOfMemoryError: CUDA out of memory.", "queue.Empty"
bool is_exception(std::string_view text) {
  const auto end =
      std::min(static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_of_name) -
                                        text.begin()),
               text.size());
  const auto name = text.substr(0, end);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  if (end != text.size() && !text.substr(end).starts_with(':')) return false;
  constexpr std::array kEnds{"Error", "Exception", "Interrupt", "Exit", "Expired", "Failure"};
  return name.find('.') != std::string_view::npos ||
         std::any_of(kEnds.begin(), kEnds.end(),
                     [&](const char* last) { return name.ends_with(last); });
}

}  // namespace

void Tracebacks::begin(std::string_view line, std::size_t at) {
  // torchelastic's summary has it behind a word of its own.
  constexpr std::string_view kOfSummary = "  traceback : ";
  auto before = line.substr(0, at);
  if (before.ends_with(kOfSummary)) before.remove_suffix(kOfSummary.size() - 2);
  const auto prefix = read_prefix(before);
  Open one;
  one.prefix = before.size();
  one.of_thread = std::exchange(of_thread_, false);
  one.fact.what = What::kRaised;
  one.fact.source = Source::kOutput;
  one.fact.writer.rank = prefix.rank;
  one.fact.on_node = prefix.on_node;
  constexpr std::size_t kMost = 1 << 16;  // ranks
  if (open_.size() >= kMost) open_.clear();
  open_[prefix.whose] = std::move(one);
}

bool Tracebacks::take(std::string_view line, std::uint64_t number) {
  if (const auto at = line.find(kBegin); at != std::string_view::npos) {
    begin(line, at);
    return false;
  }
  of_thread_ = line.find("Exception in thread") != std::string_view::npos ||
               line.find("Exception ignored in") != std::string_view::npos;
  for (auto one = open_.begin(); one != open_.end(); ++one) {
    auto& [prefix, of_thread, fact] = one->second;
    if (line.size() < prefix || read_prefix(line.substr(0, prefix)).whose != one->first) continue;
    const auto text = line.substr(prefix);
    if (text.starts_with('[')) continue;  // of a rank with a prefix
    if (text.empty() || text[0] == ' ') {
      if (auto place = frame_of_traceback(text); !place.empty()) fact.place = std::move(place);
      return false;
    }
    const bool told = is_exception(text) && !of_thread;
    if (told) {
      constexpr std::size_t kKept = 512;
      fact.text = text.substr(0, kKept);
      fact.line = number;
      sink_(std::move(fact));
    }
    open_.erase(one);
    return told;
  }
  // One whose beginning was cut off.
  if (const auto at = line.find(kFrame); at != std::string_view::npos) {
    begin(line, at);
    take(line, number);
    return false;
  }
  return take_last_line(line, number);
}

// Of which nothing else was copied. PyTorch marks each line of the exception that ends a rank (the
// excepthook of torch/distributed/distributed_c10d.py, 2.7.1 to 2.15.0).
bool Tracebacks::take_last_line(std::string_view line, std::uint64_t number) {
  const auto mark = line.starts_with("[rank") ? line.find("]: ") : std::string_view::npos;
  if (mark == std::string_view::npos) return false;
  const auto text = line.substr(mark + 3);
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || !text.substr(0, colon).ends_with("Error") ||
      !is_exception(text))
    return false;
  if (text.find("DataLoader worker (pid ") != std::string_view::npos) return false;  // ProcessEnds'
  begin(line, mark + 3);
  return take(line, number);
}

}  // namespace nnd::foreign
