// The one sentence, put together of its parts (lost_text.h and others), and what to do.
#pragma once

#include <string>

#include "report/report.h"

namespace nnd::cli {

// Its logs just end: nobody knows whether it still runs.
bool has_no_word(const report::Report& report);
// Whether that says that the job works, or does not: not of one that was ended from outside, nor
// of one without a word of its end.
bool judges(const report::Report& report);
std::string verdict(const report::Report& report);
std::string remedy(const report::Report& report);
// The event that says most of what the verdict says; null: none does.
const log::Diagnosis* first_told(const report::Report& report);
// What the HCA that is to blame had told of itself; null: nothing.
const report::Failure* sign_of_culprit(const report::Report& report);
// "rank 5", "3 processes"
std::string missing_text(const report::Missing& missing);
// The cause that the verdict names; empty: none.
std::string named_cause(const report::Report& report);

}  // namespace nnd::cli
