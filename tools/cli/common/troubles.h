// What a job's processes warned of or refused, for people: what is true of many is said once.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/checked_json.h"
#include "cli/common/screen.h"
#include "log/job.h"

namespace nnd::cli {

struct Trouble {
  std::string host;
  std::optional<int> rank;
  log::Diagnosis diagnosis;
};

nlohmann::json to_json(const Trouble& trouble);
Trouble trouble_from(const Fields& fields);  // throws BadMessage

// Every event of severity warn or error.
std::vector<Trouble> troubles_of(const log::Job& job);

// The earliest error that is no rule doing its work; null: there is none.
const log::Diagnosis* first_error(const std::vector<Trouble>& troubles);
// Why a job failed: that, or where none came, as in a job that was ended, the earliest failure.
const log::Diagnosis* first_failure(const std::vector<Trouble>& troubles);

// "SUB-RAIL: local mlx5_1:1 ... What to do."
std::string in_words(const log::Diagnosis& told);

// Errors first. Of those with one cause, device and remedy the first sentence is shown, and how
// many and whose they are; on a verbose screen each one.
std::string trouble_lines(const std::vector<Trouble>& troubles, const Screen& screen);

}  // namespace nnd::cli
