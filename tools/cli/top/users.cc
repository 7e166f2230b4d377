#include "cli/top/users.h"

#include <fmt/format.h>
#include <pwd.h>

#include <cstdio>
#include <memory>

namespace nnd::cli {

std::string user_name(uid_t user) {
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen("/etc/passwd", "re"));
  while (file) {
    const passwd* const one = fgetpwent(file.get());
    if (one == nullptr) break;
    if (one->pw_uid == user) return one->pw_name;
  }
  return fmt::format("uid {}", user);
}

}  // namespace nnd::cli
