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
  static constexpr std::uint32_t kConns = 1024;
  static std::size_t bytes() noexcept;

  // Allocates the file's blocks, maps it and watches for SIGBUS. 0 or an errno.
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
  box::ConnSlot* conn(std::uint32_t index) const noexcept;

 private:
  char* base_ = nullptr;
  bool file_backed_ = false;
};

}  // namespace nnd::record
