// The memory of the black box: a mapped file, or anonymous memory where there can be none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nccl_net_diag/black_box.h"

namespace nnd::record {

namespace box = nccl_net_diag::box;

class Box {
 public:
  static constexpr std::uint32_t kRings = 16;
  static constexpr std::uint64_t kRingSize = 512 * 1024;
  static constexpr std::uint32_t kComms = 64;
  // Of header and rings; the places of connections come on top.
  static std::size_t bytes() noexcept;

  // Allocates the file's blocks, maps it and watches for SIGBUS. 0 or an errno. The descriptor
  // stays open as long as the file is mapped.
  int map_file(int fd) noexcept;
  // 0 or an errno.
  int map_anonymous() noexcept;
  // Puts anonymous memory in the file's place: late writers do no harm, and the file is let go.
  void abandon() noexcept;
  // In a forked child: the parent's file is none of its business.
  void unmap() noexcept;
  bool file_backed() const noexcept { return file_backed_; }

  void describe(std::uint64_t proc_id, std::string_view host, std::string_view log_path) noexcept;
  box::FileHeader& header() const noexcept { return *reinterpret_cast<box::FileHeader*>(base_); }
  box::RingHeader* ring(std::uint32_t index) const noexcept;
  char* ring_data(std::uint32_t index) const noexcept;
  box::CommSlot* comm(std::size_t place) const noexcept;
  box::ConnSlot* conn(std::size_t place) const noexcept;
  // How many of so many places there are: the file grows by what is missing. None in anonymous
  // memory. The drain's thread alone; may take as long as the file system likes.
  std::size_t make_places(std::size_t wanted) noexcept;

 private:
  int map_up_to(std::size_t bytes) noexcept;

  char* base_ = nullptr;    // of a range that has room for all connections that there can be
  std::size_t mapped_ = 0;  // of it: the file's
  std::size_t places_ = 0;
  int fd_ = -1;  // the caller's
  bool file_backed_ = false;
  bool full_ = false;  // it could not grow
};

}  // namespace nnd::record
