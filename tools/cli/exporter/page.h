// What is served: the last look as text, in the format that the caller wants.
#pragma once

#include <memory>
#include <string>

#include "cli/exporter/family.h"
#include "cli/exporter/http.h"

namespace nnd::cli {

class MetricsPage {
 public:
  // From now on it is this.
  void show(const Families& families);

  HttpReply answer(const HttpRequest& request) const;

 private:
  // Shared with the callers who have not yet read it all.
  std::shared_ptr<const std::string> text_, open_metrics_;
};

}  // namespace nnd::cli
