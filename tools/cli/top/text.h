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
  TextTable::Row may_lack;  // columns that a narrow screen goes without
  struct Row {
    TextTable::Row cells;
    Colour colour = Colour::kPlain;
    bool sick = false;  // else it is folded before any that is
  };
  std::vector<Row> rows;  // the sick first
};

// In so many lines (0: any), a blank one between two sections. Where that is too little, healthy
// rows give way first, those of the last section before others, and it is said how many.
std::string fitted(const std::vector<Section>& sections, std::size_t lines, const Screen& screen);

// Below a verdict of that many lines, in so many lines in all (0: any). Who is sick comes first, by
// jobs, then what waits longest, then by rank.
std::string top_page(const View& view, std::size_t verdict_lines, std::size_t height,
                     const Screen& screen);
// What the columns mean, and what the keys do.
std::string top_help(const Screen& screen);

}  // namespace nnd::cli
