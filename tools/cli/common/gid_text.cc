#include "cli/common/gid_text.h"

#include <string_view>

namespace nnd::cli {

std::string without_mapping(const std::string& gid) {
  constexpr std::string_view kMapped = "::ffff:";
  return gid.starts_with(kMapped) ? gid.substr(kMapped.size()) : gid;
}

}  // namespace nnd::cli
