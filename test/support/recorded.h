// What code logs that may be asked once in a process: it runs in a process of its own.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "record/recorder.h"
#include "support/event_log.h"
#include "support/forked.h"
#include "support/temp_dir.h"

namespace nnd::test {

// The events of f, with all of them wanted. Where f returns whether what it saw was right: throws
// if it was not.
template <class F>
std::vector<nlohmann::json> recorded(F&& f) {
  const TempDir directory;
  config::Settings settings;
  settings.file = directory / "log.jsonl";
  settings.events = "*";
  const bool right = holds_in_child([&] {
    record::start(settings);
    bool seen = true;
    if constexpr (std::is_void_v<decltype(f())>)
      f();
    else
      seen = f();
    record::stop();
    return seen;
  });
  if (!right) throw std::runtime_error("the process that was to be recorded ended badly");
  return read_log(settings.file);
}

}  // namespace nnd::test
