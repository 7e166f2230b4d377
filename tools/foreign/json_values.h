// A JSON text as the values that a pickle of the same would hold: one reader for both.
#pragma once

#include <memory>
#include <string_view>

#include "foreign/pickle.h"

namespace nnd::foreign {

class JsonValues {
 public:
  // Throws PickleError: it is no JSON, nested too deep, or too large.
  explicit JsonValues(std::string_view bytes);
  ~JsonValues();
  JsonValues(const JsonValues&) = delete;
  JsonValues& operator=(const JsonValues&) = delete;

  const Pickle& get() const { return values_; }

 private:
  struct Parser;  // keeps the texts
  std::unique_ptr<Parser> parser_;
  Pickle values_;
};

}  // namespace nnd::foreign
