// `nccl-net-diag exporter`: what this node's NCCL processes do over the network, as metrics.
#pragma once

#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

struct ExporterOptions {
  std::string textfile;  // empty: once, to standard output
  double every_sec = 15;
};

// With a file it lasts until SIGTERM or Ctrl-C.
Answer exporter(const ExporterOptions& options, const Calling& calling);

}  // namespace nnd::cli
