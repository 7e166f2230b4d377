// Two nodes with an HCA on a rail of its own beside each GPU, and what is said of a job on them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/report/verdict.h"
#include "job/reported.h"
#include "support/catch.h"

namespace nnd::test {

// An HCA on a rail of its own beside each GPU; between the rails there is a router. `stray`: HCA 1
// of node1 has an address that nothing leads to; `front`: more of each host.
inline std::string rails(int gpus, const std::string& faults = "", bool stray = false,
                         const std::string& front = "") {
  std::string out = "resolve_timeout_ms = 20\n";
  for (int host = 0; host < 2; ++host) {
    out += fmt::format("[[host]]\nname = \"node{}\"\nnvswitch = true\n{}", host, front);
    for (int i = 0; i < gpus; ++i) {
      const bool is_stray = stray && host == 1 && i == 1;
      out += fmt::format(R"(
[[host.hca]]
name = "mlx5_{0}"
netdev = "eth{0}"
address = "10.{1}.{0}.{2}/24"
speed_mbps = 200000
pci = "0000:{3}3:00.0"
parent = "0000:{3}0:01.0/0000:{3}1:00.0/0000:{3}2:00.0"
[[host.gpu]]
pci = "0000:{3}4:00.0"
parent = "0000:{3}0:01.0/0000:{3}1:00.0/0000:{3}2:01.0"
)",
                         i, is_stray ? 99 : 65, host + 1, i + 1);
    }
    out += R"([host.sysfs]
"kernel/mm/memory_peers/nv_mem/version" = "550.54"
"module/nvidia_peermem/version" = "550.54"
)";
  }
  return out + "[[route]]\nfrom = \"10.65.0.0/16\"\nto = \"10.65.0.0/16\"\n" + faults;
}

struct Said {
  report::Kind kind;
  report::Blame blame;
  std::vector<std::string> words;  // of the sentence
};

inline void check(const report::Report& report, const Said& said) {
  const auto sentence = cli::verdict(report);
  INFO(sentence);
  CHECK(report::name_of(report.kind) == std::string(report::name_of(said.kind)));
  CHECK(report::name_of(report.blame) == std::string(report::name_of(said.blame)));
  for (const auto& word : said.words) {
    INFO(word);
    CHECK(sentence.find(word) != std::string::npos);
  }
}

}  // namespace nnd::test
