// What a view says, in one sentence and in lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/top/view.h"

namespace nnd::cli {

// A connection and whose it is.
struct OwnedConnection {
  const ShownProcess* process = nullptr;
  const ShownConnection* connection = nullptr;
};
// What has waited for long, the longest first.
std::vector<OwnedConnection> long_waits(const View& view);

// "rank 3's receive from rank 7 over mlx5_2:1 has waited for 12.0 s (AllReduce #4711, pid 123)"
std::string in_words(const OwnedConnection& pair);

// How much moves, and what waits. Nobody is accused: a receive that was posted early waits too.
std::string top_verdict(const View& view);
// What it is in, or was in at last: "AllReduce #181, 31 of 56 operations done"; a dash: not known.
std::string what_it_did(const ShownProcess& process);
// Whom to look at first, and with what, to copy into a shell; unset: nobody.
struct LookAt {
  std::string who, command;
};
std::optional<LookAt> look_at(const View& view);
// "rank 3 pid 123 on node0: 8 connections, ...", for each process.
std::vector<std::string> top_brief(const View& view);

std::string rate_text(const std::optional<double>& gbit);       // "12.3"; a dash: not known
std::string part_text(const std::optional<double>& part);       // "87%", likewise
std::string age_text(const std::optional<double>& seconds);     // likewise
std::string peer_of(const nccl_net_diag::box::ConnSlot& slot);  // "rank 7", "::ffff:10.200.0.2"

}  // namespace nnd::cli
