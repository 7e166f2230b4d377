// Numbers of bytes as users write them.
#pragma once

#include <cstddef>
#include <string>

namespace nnd::cli {

// "65536", "64K", "4M", "1G": from 4 bytes to 4G. Throws CallError.
std::size_t parse_size(const std::string& text);

}  // namespace nnd::cli
