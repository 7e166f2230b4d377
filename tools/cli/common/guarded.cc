#include "cli/common/guarded.h"

#include <fmt/format.h>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace {

int fail(const std::string& subcommand, bool as_json, const CallError& error) {
  using nlohmann::json;
  if (as_json)
    fmt::print("{}\n", json{{"ok", false}, {"error", error.to_json()}}.dump(
                           2, ' ', false, json::error_handler_t::replace));
  else
    fmt::print(stderr, "nccl-net-diag {}: {}\n", subcommand, error.what());
  return error.exit_code();
}

}  // namespace

int guarded(const std::string& subcommand, bool as_json, const std::function<int()>& body) {
  try {
    return body();
  } catch (const CallError& error) {
    return fail(subcommand, as_json, error);
  } catch (const std::exception& error) {
    return fail(subcommand, as_json, CallError(kNotExamined, "failed", error.what()));
  }
}

}  // namespace nnd::cli
