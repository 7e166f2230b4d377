// The doors as they are in production.
#include "inner/chain.h"
#include "net/session.h"
#include "record/recorder.h"

namespace nnd::net {

namespace {

void start(const config::Settings& settings, nccl_abi::DebugLogger logger) {
  record::start(settings);
  // The same function type but for the level, which is an int in the ABI.
  record::set_nccl_logger(reinterpret_cast<record::NcclLogger>(logger));
}

inner::Found find(const void* caller, int api, const config::Settings& settings) {
  return inner::find_inner(settings.inner, caller, api);
}

}  // namespace

Doors& doors() {
  static Doors* const instance = new Doors{config::load_settings, start, find};
  return *instance;
}

}  // namespace nnd::net
