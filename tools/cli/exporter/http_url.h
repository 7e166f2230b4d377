// Where a receiver is, as people write it.
#pragma once

#include <string>

#include "cli/common/tcp.h"

namespace nnd::cli {

struct HttpUrl {
  TcpAddress at;
  std::string path;  // with its query

  std::string text() const;  // "http://node1:4318/v1/metrics"
};

// Of `--otlp`: "http://HOST[:PORT][/PATH]"; by default port 4318 and /v1/metrics, which are OTLP's.
// Throws CallError.
HttpUrl otlp_url(const std::string& text);

}  // namespace nnd::cli
