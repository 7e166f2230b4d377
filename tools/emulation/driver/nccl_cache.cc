#include "driver/nccl_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace nnd::driver {

namespace {

#if defined(__x86_64__)
constexpr const char* kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "aarch64";
#endif

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// 2.9.1 comes before 2.28.3.
std::array<int, 3> numbers(const std::string& version) {
  std::array<int, 3> out{};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (auto& number : out) {
    at = std::from_chars(at, end, number).ptr;
    if (at != end) ++at;
  }
  return out;
}

}  // namespace

std::filesystem::path nccl_cache() {
  if (const auto dir = variable("NND_NCCL_DIR"); !dir.empty()) return dir;
  const auto xdg = variable("XDG_CACHE_HOME");
  const std::filesystem::path base = xdg.empty() ? variable("HOME") + "/.cache" : xdg;
  return base / "nccl-net-diag" / "nccl";
}

std::vector<std::string> cached_versions() {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(nccl_cache() / kArchitecture, error))
    if (cached_nccl(entry.path().filename())) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end(),
            [](const std::string& a, const std::string& b) { return numbers(a) < numbers(b); });
  return out;
}

std::optional<std::filesystem::path> cached_nccl(const std::string& version) {
  auto file = nccl_cache() / kArchitecture / version / "libnccl.so.2";
  std::error_code error;
  if (version.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  return file;
}

}  // namespace nnd::driver
