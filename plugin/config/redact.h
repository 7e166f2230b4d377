// What may be shown of an environment. Logs and reports are passed on, and who passes them on must
// not have to look for passwords first.
#pragma once

#include <string>
#include <string_view>

namespace nnd::config {

// The value as it may be shown: that of a variable which is known to hold no secret (NCCL's and
// UCX's about networks, this plugin's), with the user, the password and the query of a URL left
// out; and any short whole number, as nearly all of NCCL's parameters are. Of everything else
// "<hidden>". Thread-safe.
std::string shown_value(std::string_view name, std::string_view value);

}  // namespace nnd::config
