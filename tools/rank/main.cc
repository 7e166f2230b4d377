// nnd-rank: one rank of a job that the driver runs. Started by it, with the channel as
// descriptor 3.
#include <cstdio>

#include "driver/server.h"

int main() {
  nnd::driver::Channel channel(3);
  return nnd::driver::serve(channel, nullptr);
}
