// Names with counters in them: "mlx5_{i}", "10.{i+1}.0.{h*2+1}/24", "0000:{i*16+16:02x}:00.0".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace softverbs {

using Counters = std::map<char, int>;  // 'h' host, 'i' HCA or netdev, 'p' port

// Throws std::invalid_argument with what is wrong.
std::string expand(std::string_view pattern, const Counters& counters);

}  // namespace softverbs
