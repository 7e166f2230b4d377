// Where the tests keep their temporary files.
#pragma once

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace nnd::test {

// In memory where there is room, unless TMPDIR says where: an emulated node is a thousand small
// files, and a disk's file system that has just removed as many takes longer to make them than the
// test to run.
inline void keep_files_in_memory() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr unsigned long long kRoom = 4ULL << 30;  // some tests copy a libnccl
  struct statvfs there {};
  if (::access(kMemory, W_OK) == 0 && ::statvfs(kMemory, &there) == 0 &&
      (there.f_flag & ST_NOEXEC) == 0 && 1ULL * there.f_bavail * there.f_frsize >= kRoom)
    ::setenv("TMPDIR", kMemory, 0);
}

}  // namespace nnd::test
