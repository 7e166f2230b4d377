#include "net/dependencies.h"

#include "context/immortal.h"

namespace nnd::net {

Dependencies& dependencies() {
  static context::Immortal<Dependencies> instance;
  return *instance;
}

}  // namespace nnd::net
