// Where in its own code a Python program is: "train.py:212 in step".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nnd::foreign {

// No frame of the program's own, but of PyTorch.
bool is_of_torch(std::string_view file);

std::string frame_text(std::string_view file, std::int64_t line, std::string_view function);

// The innermost frame of the program's own in what traceback.format_exc() gives; empty: it has
// none.
std::string frame_of_traceback(std::string_view traceback);

}  // namespace nnd::foreign
