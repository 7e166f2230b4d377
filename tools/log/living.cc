#include "log/living.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "nccl_net_diag/black_box.h"

namespace nnd::log {

namespace fs = std::filesystem;

namespace {

// What the kernel adds to the name of a file that was removed.
constexpr std::string_view kRemoved = " (deleted)";

fs::path descriptors_of(int pid) { return "/proc/" + std::to_string(pid) + "/fd"; }

// Of each entry of a directory of /proc, which may go while it is read.
template <typename Take>
void for_each_in(const fs::path& directory, const Take& take) {
  std::error_code error;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) take(at->path());
}

}  // namespace

std::vector<int> processes() {
  std::vector<int> out;
  for_each_in("/proc", [&](const fs::path& path) {
    const std::string name = path.filename();
    int pid = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr == end) out.push_back(pid);
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<LivingBox> living_boxes(int pid) {
  std::vector<LivingBox> out;
  for_each_in(descriptors_of(pid), [&](const fs::path& descriptor) {
    std::error_code gone;
    std::string named = fs::read_symlink(descriptor, gone);
    // The name may go on with ".1".
    if (named.find(nccl_net_diag::box::kFileEnding) == std::string::npos) return;
    if (named.ends_with(kRemoved)) named.resize(named.size() - kRemoved.size());
    out.push_back({pid, descriptor, named});
  });
  return out;
}

bool may_look_into(int pid) { return access(descriptors_of(pid).c_str(), R_OK) == 0; }

}  // namespace nnd::log
