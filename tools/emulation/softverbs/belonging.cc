#include "softverbs/belonging.h"

#include <string>

namespace softverbs {

namespace fs = std::filesystem;

fs::path belonging(const char* installed, const char* built) {
  std::error_code ignored;
  const auto program = fs::read_symlink("/proc/self/exe", ignored);
  auto beside = program.parent_path().parent_path() / installed;
  if (fs::exists(beside, ignored)) return beside;
  const bool in_build_tree = program.string().starts_with(NND_BUILD_TREE "/");
  return in_build_tree ? fs::path(built) : beside;
}

}  // namespace softverbs
