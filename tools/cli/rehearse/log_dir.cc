#include "cli/rehearse/log_dir.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace fs = std::filesystem;

std::string make_log_dir(const std::string& wanted) {
  std::error_code error;
  fs::create_directories(wanted, error);
  struct stat about {};
  if (stat(wanted.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    throw CallError(kWrongCall, "logs", wanted + " is no directory and cannot be made one", wanted);
  const bool others_write = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if ((about.st_uid != geteuid() && about.st_uid != 0) ||
      (others_write && (about.st_mode & S_ISVTX) == 0))
    throw CallError(kWrongCall, "logs",
                    wanted + " belongs to another user, or others can change what is in it",
                    wanted);
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(time.data(), time.size(), "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
  auto name = fmt::format("{}/{}.XXXXXX", wanted, time.data());
  if (mkdtemp(name.data()) == nullptr)
    throw CallError(kWrongCall, "logs", fmt::format("{}: {}", name, std::strerror(errno)), wanted);
  return name;
}

}  // namespace nnd::cli
