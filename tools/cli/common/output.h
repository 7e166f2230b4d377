// Standard output and standard error, which may be closed, full, or a pipe that nobody reads.
#pragma once

#include <string_view>

namespace nnd::cli {

// A descriptor of the three that is closed would be the next file's or socket's, which then got
// what is printed. Called first of all: what is closed stays unusable.
void hold_standard_files();

// Never throws. What standard output doesn't take is told by flush_output.
void print_out(std::string_view text);
// What standard error doesn't take is lost: no work ends for it.
void print_err(std::string_view text);

// The errno with which standard output failed first; 0: it took everything.
int flush_output();

}  // namespace nnd::cli
