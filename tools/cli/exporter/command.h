// `nccl-net-diag exporter`: what this node's NCCL processes do over the network, as metrics.
#pragma once

#include <optional>
#include <string>

#include "cli/common/answer.h"

namespace nnd::cli {

struct ExporterOptions {
  std::string textfile;               // empty: none
  std::optional<std::string> listen;  // "[ADDRESS:]PORT"; unset: nobody is answered
  std::optional<std::string> otlp;    // "http://HOST[:PORT][/PATH]"; unset: nothing is sent
  double every_sec = 15;
};

// Without a file, callers and a receiver it prints once; with one of them it lasts until SIGTERM or
// Ctrl-C.
Answer exporter(const ExporterOptions& options, const Calling& calling);

}  // namespace nnd::cli
