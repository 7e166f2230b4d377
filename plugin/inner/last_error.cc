#include "inner/last_error.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace nnd::inner {

namespace {

using GetLastError = const char* (*)(void* comm);
constinit std::atomic<GetLastError> g_get{nullptr};

}  // namespace

void ask_for_errors(const Module& nccl) noexcept {
  const void* const symbol = exported_symbol(nccl, "ncclGetLastError");
  GetLastError none = nullptr;
  if (symbol != nullptr)
    g_get.compare_exchange_strong(none, reinterpret_cast<GetLastError>(const_cast<void*>(symbol)));
}

std::string last_error() {
  constexpr std::size_t kMost = 200;
  const GetLastError get = g_get.load();
  const char* const text = get == nullptr ? nullptr : get(nullptr);
  if (text == nullptr) return {};
  std::string out(text, strnlen(text, kMost));
  out.resize(std::min(out.size(), out.find_first_of("\r\n")));
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

}  // namespace nnd::inner
