// What the page of a report is made of: its look, its script, tables that are drawn where they are
// read, since a big job has thousands of rows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/page_origin.h"
#include "cli/report/words.h"

namespace nnd::cli {

std::string page_head();
std::string page_end();  // with the script

// What a page begins with. look: "bad", "warn", "good"; about: which job it was.
std::string page_verdict(const char* look, const Words& words, const std::string& about,
                         const PageOrigin& origin);

// One row: its cells.
using PageRow = std::vector<std::string>;

// Sorts by a heading, shows what a text fits, and a few hundred rows at a time.
std::string data_table(const std::string& id, const std::vector<std::string>& headings,
                       const std::vector<PageRow>& rows);

}  // namespace nnd::cli
