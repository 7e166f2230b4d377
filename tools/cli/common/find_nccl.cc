#include "cli/common/find_nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "driver/nccl_cache.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

using Lookup = std::function<std::string(const char*)>;
constexpr const char* kName = "libnccl.so.2";

std::vector<fs::path> split_path(const std::string& path) {
  std::vector<fs::path> out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    if (end > begin) out.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// "2.28.9", "2.27.7-cu13"
bool is_version(const std::string& text) {
  return std::isdigit(static_cast<unsigned char>(text[0])) != 0 &&
         text.find('/') == std::string::npos && text.find('.') != std::string::npos;
}

// <prefix>/lib*/python3.*/{site,dist}-packages/nvidia/nccl/lib/libnccl.so.2, the newest Python
// first.
std::optional<fs::path> in_python(const fs::path& prefix) {
  std::vector<fs::path> pythons;
  std::error_code ignored;
  for (const char* lib : {"lib", "lib64"})
    for (const auto& entry : fs::directory_iterator(prefix / lib, ignored))
      if (entry.path().filename().string().starts_with("python3")) pythons.push_back(entry.path());
  std::sort(pythons.rbegin(), pythons.rend());
  for (const auto& python : pythons)
    for (const char* packages : {"site-packages", "dist-packages"})
      if (const auto file = python / packages / "nvidia/nccl/lib" / kName; is_file(file))
        return file;
  return std::nullopt;
}

std::vector<fs::path> python_prefixes(const Lookup& variable) {
  std::vector<fs::path> out;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto prefix = variable(name); !prefix.empty()) out.emplace_back(prefix);
  for (const auto& dir : split_path(variable("PATH")))
    if (is_file(dir / "python3")) {
      out.push_back(dir.parent_path());
      break;
    }
  if (const auto home = variable("HOME"); !home.empty()) out.push_back(fs::path(home) / ".local");
  out.emplace_back("/usr/local");
  return out;
}

std::optional<fs::path> detected(const Lookup& variable) {
  for (const auto& dir : split_path(variable("LD_LIBRARY_PATH")))
    if (is_file(dir / kName)) return dir / kName;
  for (const auto& prefix : python_prefixes(variable))
    if (auto file = in_python(prefix)) return file;
  constexpr const char* kMultiarch = "/usr/lib/" NND_LIBRARY_ARCHITECTURE;
  for (const fs::path dir :
       {kMultiarch, "/usr/local/lib", "/usr/lib64", "/usr/lib", "/usr/local/cuda/lib64"})
    if (is_file(dir / kName)) return dir / kName;
  const auto versions = driver::cached_versions();
  return versions.empty() ? std::nullopt : driver::cached_nccl(versions.back());
}

}  // namespace

std::string find_nccl(const std::string& wanted, const Lookup& variable) {
  if (wanted.empty()) {
    if (const auto found = detected(variable)) return found->string();
    throw CallError(kNotExamined, "no-nccl",
                    "no libnccl.so.2 was found in LD_LIBRARY_PATH, the Python environment or the "
                    "system's library directories; --nccl names one");
  }
  // A version is one of the cache, whatever else is called so in the current directory.
  if (is_version(wanted)) {
    if (const auto cached = driver::cached_nccl(wanted)) return cached->string();
    throw CallError(kWrongCall, "no-nccl",
                    fmt::format("NCCL {} is not in {}; name libnccl's file or directory instead",
                                wanted, driver::nccl_cache().string()),
                    wanted);
  }
  if (is_file(wanted)) return wanted;
  if (is_file(fs::path(wanted) / kName)) return (fs::path(wanted) / kName).string();
  throw CallError(kWrongCall, "no-nccl", fmt::format("there is no libnccl at {}", wanted), wanted);
}

}  // namespace nnd::cli
