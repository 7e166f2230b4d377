#include "config/nearest.h"

#include <algorithm>

namespace nnd::config {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

unsigned edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the one before last is for swaps.
  std::vector<unsigned> before(b.size() + 1);
  std::vector<unsigned> last(b.size() + 1);
  std::vector<unsigned> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<unsigned>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = static_cast<unsigned>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  unsigned best_distance = static_cast<unsigned>(word.size()) / 3 + 1;  // a third may be wrong
  for (const std::string_view candidate : known) {
    // At least as many edits as the lengths differ by: a file may hold very long words.
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > best_distance) continue;
    const unsigned distance = edit_distance(word, candidate);
    if (distance > best_distance || (distance == best_distance && !best.empty())) continue;
    best = candidate;
    best_distance = distance;
  }
  return std::string(best);
}

}  // namespace nnd::config
