#include "cli/common/export_line.h"

namespace nnd::cli {

bool is_safe_export_line(std::string_view line) {
  constexpr std::string_view kExport = "export NCCL_";
  return line.starts_with(kExport) &&
         line.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_=^,:.-",
             kExport.size()) == line.npos;
}

}  // namespace nnd::cli
