#include "driver/trace.h"

namespace nnd::driver {

nlohmann::json Trace::to_json() const {
  auto out = nlohmann::json::array();
  for (const auto& call : calls_)
    out.push_back({{"object", call.object},
                   {"call", call.call},
                   {"rc", call.rc},
                   {"detail", call.detail},
                   {"polls", call.polls}});
  return out;
}

}  // namespace nnd::driver
