// One HCA: what verbs told, enriched from sysfs and the network. Internal to this room.
#pragma once

#include "facts/node.h"

namespace nnd::facts {

struct HcaContext {
  FileTree sysfs;
  FileTree files;       // parent of dev/
  bool examine_uverbs;  // false where sysfs is not the machine's own: /dev is not its twin
  const Network& network;
  const Environment& environment;
  int nccl_version;
};

Hca read_hca(const VerbsDevice& device, const HcaContext& context);

// Its GIDs' interfaces and prefixes, as the context's network has them.
void read_gids_again(const HcaContext& context, Hca& hca);

}  // namespace nnd::facts
