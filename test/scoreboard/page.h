// docs/scoreboard.md: one row for each failure mode.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scoreboard/entry.h"

namespace nnd::scoreboard {

struct Row {
  std::string id = {}, played = {};
  std::string result = {};  // "named", "partly: ...", "not named", "not seen from a process"
  std::string says = {};    // "DEV-BOND mlx5_bond_0"; cause, device, peer
  double ms = -1;           // from the fault; -1: there is no such moment
  bool from_start = false;
  std::string nccl = {};  // its first warning
  // ... from the fault; where that was there from the start, from our event.
  std::optional<double> nccl_ms = std::nullopt;
  std::string ras = {};     // what NCCL's RAS said
  std::string report = {};  // "right", or what is wrong with its first paragraph

  // What must not change by itself: not which of two ends dialled, and so told it.
  std::string lasting() const { return result + " | " + says.substr(0, says.find(' ')); }
};

std::string page(const std::vector<Row>& rows);
// The rows of a page, by id, as far as they last.
std::map<std::string, Row> read_page(const std::string& text);

}  // namespace nnd::scoreboard
