#include "record/filter.h"

#include <fnmatch.h>

#include <string>

namespace nnd::record {

namespace {

std::uint64_t matching(const std::string& glob) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < nccl_net_diag::kEventNames.size(); ++i)
    if (::fnmatch(glob.c_str(), nccl_net_diag::kEventNames[i].data(), 0) == 0)
      mask |= std::uint64_t{1} << i;
  return mask;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Filter event_filter(std::string_view globs) {
  std::uint64_t included = 0;
  std::uint64_t excluded = 0;
  bool any_included = false;
  while (!globs.empty()) {
    const std::size_t comma = globs.find(',');
    std::string_view glob = trimmed(globs.substr(0, comma));
    globs = comma == globs.npos ? std::string_view{} : globs.substr(comma + 1);
    if (glob.empty()) continue;
    if (glob.front() == '^') {
      excluded |= matching(std::string(glob.substr(1)));
    } else {
      any_included = true;
      included |= matching(std::string(glob));
    }
  }
  if (!any_included) included = matching("*") & ~matching("req.*");
  return {(included & ~excluded) | event_bit(nccl_net_diag::EventId::kLogDropped), any_included};
}

}  // namespace nnd::record
