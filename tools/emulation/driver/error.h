// What the driver throws: one sentence that says at which stage it happened.
#pragma once

#include <stdexcept>

namespace nnd::driver {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nnd::driver
