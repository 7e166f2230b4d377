#include "take_over.h"

#include "attach.h"
#include "give_way.h"
#include "sanitized.h"
#include "segments.h"
#include "softverbs/hostview.h"

namespace softcuda {

std::string take_over(void* handle, const HostView& view) {
  // First: old releases read their configuration files whatever they are asked.
  if (!view.sysfs.empty())
    if (std::string error = softverbs::show_host(handle, view.sysfs); !error.empty()) return error;
  if (std::string error = attach(handle, view.symbols); !error.empty()) return error;
  if (std::string error = give_way(handle); !error.empty()) return error;
  if (std::string error = tell_sanitizer_of(handle); !error.empty()) return error;
  return tell_of_segments(handle, view.segment);
}

}  // namespace softcuda
