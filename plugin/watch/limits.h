// Files and QPs that are in use, against their limits: each told once, and files again when none is
// left. One thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace nnd::watch {

class Limits {
 public:
  void look();
  void forget();

 private:
  void look_at_files();
  void look_at_qps();

  unsigned files_told_ = 0;  // lines
  std::size_t qps_ = 0;      // when they were counted
  std::set<std::string> told_;
};

}  // namespace nnd::watch
