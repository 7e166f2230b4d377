// The file in which torchelastic keeps the exception that a rank's program ended with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foreign/fact.h"

namespace nnd::foreign {

bool may_be_torch_error(std::string_view begin);

// Unset: it is another JSON file, or none. writer.rank is the one on its node, which the path tells
// (".../attempt_0/2/error.json"); the file itself has none. text: "RuntimeError: ...".
std::optional<Fact> read_torch_error(const std::string& file, std::string_view bytes);

}  // namespace nnd::foreign
