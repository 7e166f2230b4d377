#include "verdict/collect.h"

#include <algorithm>

#include "verdict/dice.h"

namespace nnd::verdict {

namespace fs = std::filesystem;

namespace {

// By the pid that the file's name has.
std::optional<int> rank_of(const fs::path& file, const std::map<int, int>& pids) {
  const std::string name = file.filename();
  for (const auto& [rank, pid] : pids)
    if (name.find("." + std::to_string(pid) + ".") != std::string::npos) return rank;
  return std::nullopt;
}

}  // namespace

Collection collect(const Case& one, const fs::path& from, const fs::path& into,
                   const std::map<int, int>& pids) {
  Dice dice(one.seed ^ 0x636f6c);
  std::set<int> kept, cut;
  const int node = dice.below(one.nodes), surely = dice.below(one.ranks());
  for (int rank = 0; rank < one.ranks(); ++rank) {
    const bool chance = dice.percent(50);
    if (one.collected == Collected::kHalf && !chance && rank != surely) continue;
    if (one.collected == Collected::kOneNode && one.node_of(rank) != node) continue;
    kept.insert(rank);
    if (one.collected == Collected::kCutOff && chance) cut.insert(rank);
  }
  const bool boxes = one.collected != Collected::kNoBoxes &&
                     (one.collected != Collected::kCutOff || dice.percent(50));
  Collection out{.boxes = boxes,
                 .whole = static_cast<int>(kept.size()) == one.ranks() && cut.empty()};
  fs::create_directories(into);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(from)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto rank = rank_of(file, pids);
    const bool box = file.extension() == ".nndbox";
    if ((rank && !kept.contains(*rank)) || (box && !boxes)) continue;
    std::error_code gone;  // a box is removed when its process ends
    fs::copy_file(file, into / file.filename(), gone);
    if (gone || box || !rank) continue;
    const auto left = static_cast<std::uintmax_t>(dice.between(30, 99));
    if (cut.contains(*rank))
      fs::resize_file(into / file.filename(), fs::file_size(into / file.filename()) * left / 100);
    else
      out.ranks.insert(*rank);
  }
  return out;
}

}  // namespace nnd::verdict
