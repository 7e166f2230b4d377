// A view as a page: what each process moves over each HCA, and where its communicators are.
#pragma once

#include <string>
#include <vector>

#include "cli/common/screen.h"
#include "cli/common/text_table.h"
#include "cli/top/view.h"

namespace nnd::cli {

// A table of which as many rows are shown as there is room for.
struct Section {
  std::string title;  // empty: none
  TextTable::Row headings;
  struct Row {
    TextTable::Row cells;
    Colour colour = Colour::kPlain;
  };
  std::vector<Row> rows;
};

// In so many lines (0: any), a blank one between two sections. Where that is too little, the
// longest gives way first, and says how many rows it lacks.
std::string fitted(const std::vector<Section>& sections, std::size_t lines, const Screen& screen);

// Below a verdict of that many lines. What waits longest comes first, then by rank.
std::string top_page(const View& view, std::size_t verdict_lines, const Screen& screen);

}  // namespace nnd::cli
