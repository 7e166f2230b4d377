#include "cli/rehearse/unplayed.h"

#include <fmt/format.h>
#include <strings.h>

#include <sstream>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace {

bool starts_with_any_case(const std::string& text, const std::string& with) {
  return strncasecmp(text.c_str(), with.c_str(), with.size()) == 0;
}

bool is_unplayed(const std::string& algorithm) {
  return starts_with_any_case(algorithm, "nvls") || starts_with_any_case(algorithm, "collnet");
}

// One function's list: "Ring,Tree", "allreduce:NVLS", or "^NVLS" for all others.
bool leaves_nothing(std::string list) {
  list.erase(0, list.find(':') + 1);
  if (list.empty() || list.front() == '^') return false;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');)
    if (!is_unplayed(name)) return false;
  return true;
}

bool some_function_has_nothing(const std::string& algorithms) {
  std::istringstream lists(algorithms);
  for (std::string list; std::getline(lists, list, ';');)
    if (leaves_nothing(list)) return true;
  return false;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const char* why,
                         const char* instead) {
  throw CallError(
      kWrongCall, "not-played",
      fmt::format("{}={}: {} is not played here; set {}, or unset it", name, value, why, instead),
      name);
}

}  // namespace

void refuse_unplayed(const std::function<std::string(const char*)>& variable, bool with_topology) {
  if (const auto asked = variable("NCCL_ALGO"); some_function_has_nothing(asked))
    refuse("NCCL_ALGO", asked, "NVLS or CollNet alone", "NCCL_ALGO=Ring,Tree");
  // 2 is NCCL's default: where the GPUs can. Any other number is a demand.
  if (const auto asked = variable("NCCL_NVLS_ENABLE");
      !asked.empty() && asked != "0" && asked != "2")
    refuse("NCCL_NVLS_ENABLE", asked, "NVLS", "NCCL_NVLS_ENABLE=0");
  if (with_topology && variable("NCCL_PXN_DISABLE") == "0")
    refuse("NCCL_PXN_DISABLE", "0", "relaying through another GPU (PXN)", "NCCL_PXN_DISABLE=1");
}

}  // namespace nnd::cli
