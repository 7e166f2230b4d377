// What goes wrong with one file is that file's own: it is named, and the others are read.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <vector>

#include "log/source.h"

namespace nnd::report {

// Whether read() came to its end; if not, why is among the problems.
template <class Read>
bool read_alone(const std::string& file, std::vector<std::string>& problems, const Read& read) {
  try {
    read();
    return true;
  } catch (const log::ReadError& error) {
    problems.emplace_back(error.what());
  } catch (const std::bad_alloc&) {
    problems.push_back(file + ": there is not enough memory for what it tells");
  } catch (const std::exception& error) {
    problems.push_back(file + ": " + error.what());
  }
  return false;
}

}  // namespace nnd::report
