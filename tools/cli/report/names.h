// How a report calls things: spans of time, counts, processes, places.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/report.h"

namespace nnd::cli {

// "3.2 s"
std::string seconds(report::Ns ns);
// "1 rank", "2 ranks"
std::string count_of(std::size_t count, const char* one, const char* more);
// "3.20 GB", "512 B"
std::string bytes_text(double bytes);
// A sentence of a log, where it is too long for a page.
std::string shortened(std::string text);
// The first few, and how many more.
std::string list(const std::vector<std::string>& names);
// "WC-12, the peer did not answer (RETRY_EXC_ERR)"
std::string cause_text(const std::string& cause);
// "rank 5 (node2)", "ranks 0-7 (node0)", "12 ranks on 3 hosts", "node0 pid 12"
std::string who(const report::Picture& picture, const std::vector<std::size_t>& members);
bool share_a_host(const report::Picture& picture, const std::vector<std::size_t>& members);
// "16 processes on 2 hosts": what the job was.
std::string job_text(const report::Picture& picture);
// Communicators have names where the program gives them some, as PyTorch does.
std::string communicator_text(const report::Picture& picture, const std::string& comm);
std::string place_text(const report::Place& place);
std::string culprit_text(const report::Culprit& culprit);

}  // namespace nnd::cli
