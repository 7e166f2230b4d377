// A request over HTTP and what is answered, without the wire.
#pragma once

#include <memory>
#include <string>

namespace nnd::cli {

struct HttpRequest {
  std::string method, path;  // the path without its query
  std::string accept;        // the header; empty: there is none
};

struct HttpReply {
  unsigned status = 0;
  std::string type;  // of the body
  std::shared_ptr<const std::string> body;
  std::string allow;  // the methods that there are, where it was another
};

}  // namespace nnd::cli
