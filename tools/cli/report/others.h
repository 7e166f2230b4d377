// What other programs' files show, in words and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/report/words.h"
#include "foreign/evidence.h"
#include "report/others.h"

namespace nnd::cli {

// Of a job that left nothing else.
Words words_of_others(const report::ForeignFindings& others, const foreign::Evidence& evidence);

// Event logs that leave it open are of a job whose program these show to be guilty.
bool decide(const report::ForeignFindings& others, const report::Report& report);

// Beside event logs, whose verdict they don't change where that is known: what they add, and where
// they contradict it.
std::vector<std::string> lines_beside(const report::Report& report,
                                      const report::ForeignFindings& others);

// " RuntimeError: ..., at train.py:212 in step.", of the process that the event logs name; else
// empty.
std::string raised_beside(const report::Report& report, const report::ForeignFindings& others);

// Of processes that ended together, which was the first by an exit code of its own: " What was
// printed tells that rank 1 (node1) ended with exit code 1."; else empty.
std::string ended_beside(const report::Report& report, const report::ForeignFindings& others);

nlohmann::json others_json(const report::ForeignFindings& others,
                           const foreign::Evidence& evidence);

}  // namespace nnd::cli
