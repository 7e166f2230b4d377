// What is said when the plugin is loaded: the event plugin.load, what is odd in our own variables,
// and one line to NCCL's logger.
#pragma once

#include <string>

#include "config/settings.h"
#include "inner/find.h"

namespace nnd::session {

struct OtherLayers {
  std::string verbs_problem = {};  // why the verbs layer is not in place; empty: it is
  bool profiler = false;           // NCCL will look for a profiler here
};

// What the table of this version of the net API wraps from now on, or why it wraps nothing.
void tell_loaded(const inner::Found& found, int api, const OtherLayers& others,
                 const config::Settings& settings);

// One line to NCCL's logger, once per tell_loaded(). hcas: those taken and skipped; empty: not
// known.
void tell_hcas_found(const std::string& hcas);

}  // namespace nnd::session
