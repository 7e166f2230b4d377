#include "cli/report/live_ras.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/ras_text.h"
#include "report/ras.h"

namespace nnd::cli {

namespace {

bool is_of(const foreign::RasCommunicator& communicator, const std::set<std::int64_t>& pids) {
  const auto known = [&](const auto& rank) { return pids.contains(rank.pid); };
  return std::any_of(communicator.ranks.begin(), communicator.ranks.end(), known) ||
         std::any_of(communicator.missing.begin(), communicator.missing.end(), known);
}

// Without what changes with time alone.
std::string key_of(const report::Ras& ras) {
  std::string out = fmt::format("{} {} {} {}", ras.of->hash, static_cast<int>(ras.kind),
                                ras.collective, ras.begun);
  for (const auto* one : ras.ranks) out += fmt::format(" {}", one->rank);
  for (const auto* one : ras.gone) out += fmt::format(" {}", one->rank);
  return out;
}

}  // namespace

const std::string& LiveRas::look(const std::set<std::int64_t>& pids) {
  if (!client_.look()) return said_;
  said_.clear();
  key_.clear();
  if (const auto ras = report::ras_of(client_.answers());
      ras && ras->found() && is_of(*ras->of, pids)) {
    said_ = ras_text(*ras);
    key_ = key_of(*ras);
  }
  return said_;
}

std::string LiveRas::news(const std::set<std::int64_t>& pids) {
  look(pids);
  if (key_ == told_) return {};
  told_ = key_;
  return said_;
}

}  // namespace nnd::cli
