// Which of NCCL's sayings a text is.
#pragma once

#include <string_view>

#include "foreign/fact.h"
#include "foreign/form.h"
#include "foreign/nccl_sayings.h"

namespace nnd::foreign {

struct Said {
  const Saying* saying = nullptr;  // null: none
  Printed printed;
};

// A whole one, else the first of which so much is there that it is no other. cut: as of
// read_printed().
Said find_saying(std::string_view text, bool cut);

// Whether NCCL wrote a line that has nothing of NCCL's before the text.
bool is_bare_saying(std::string_view line);

// What the line's values say: rank, HCA, errno, addresses.
void fill(Fact& fact, const Said& said, std::string_view text);

}  // namespace nnd::foreign
