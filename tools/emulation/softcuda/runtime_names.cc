#include "runtime_names.h"

#include <system_error>

namespace softcuda {

std::filesystem::path link_runtime(const std::filesystem::path& file,
                                   const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto link = [&](const char* name) {
    std::error_code is_there;  // made by another process of the same folder
    std::filesystem::create_symlink(file, folder / name, is_there);
    return folder / name;
  };
  for (const char* name : kRuntimeNames) link(name);
  return link("libsoftcuda.so");
}

}  // namespace softcuda
