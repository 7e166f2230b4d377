#include "diagnosis/unlike.h"

#include <algorithm>
#include <string_view>

namespace nnd::diagnosis {

namespace {

bool is_variable(std::string_view what) { return what.starts_with("NCCL_"); }

std::string text_of(const UnlikePeers::Item& item) {
  std::string values;
  if (!item.here_is.empty()) values += item.here_is + " here";
  if (!item.there_is.empty()) values += (values.empty() ? "" : ", ") + item.there_is + " there";
  return values.empty() ? item.what : item.what + " (" + values + ")";
}

template <class F>
std::string listed(const UnlikePeers& seen, F&& text) {
  std::string out;
  for (const auto& item : seen.items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

}  // namespace

std::string sentence_of(const UnlikePeers& seen) {
  const bool known = seen.here.rank >= 0 || !seen.here.host.empty();
  return (known ? name_of(seen.here) + ", this process, and " : "this process and ") +
         name_of(seen.there) + " differ in " + listed(seen, text_of);
}

Diagnosis diagnose(const UnlikePeers& seen, Cause cause) {
  const bool variables =
      std::all_of(seen.items.begin(), seen.items.end(),
                  [](const UnlikePeers::Item& item) { return is_variable(item.what); });
  return {cause, sentence_of(seen),
          variables
              ? "Set " + listed(seen, [](const UnlikePeers::Item& item) { return item.what; }) +
                    " alike on every node (mpirun -x, or the launcher's own way)."
              : remedy_of(cause)};
}

}  // namespace nnd::diagnosis
