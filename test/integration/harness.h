// What the integration tests share: which libnccl, how ranks are started, where their files go.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/job.h"
#include "support/catch.h"

namespace nnd::integration {

// The libnccl under test: $NND_TEST_NCCL as a version in the cache or a path, else 2.28.9. Where it
// is missing the whole program says so and exits with kSkipped (see main.cc).
std::string nccl();
std::string nccl_version();

inline constexpr int kSkipped = 77;

// A directory of its own, removed with everything in it.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The matcher for a part of a text, which Catch2 names differently in its versions.
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

// A rank whose environment has none of the caller's NCCL variables, on the loopback interface, with
// its output in the scratch directory.
driver::RankOptions plain_rank(const ScratchDir& scratch);

}  // namespace nnd::integration
