// The libraries that libsoftcuda.so stands in for, by the names under which programs ask for them.
#pragma once

#include <filesystem>

namespace softcuda {

inline constexpr const char* kRuntimeNames[] = {"libcudart.so.12", "libcudart.so.13", "libcuda.so",
                                                "libcuda.so.1", "libnvidia-ml.so.1"};

// The file, in `folder` under all the names that it goes by: links, which not every package can
// hold. The value: what a program preloads.
std::filesystem::path link_runtime(const std::filesystem::path& file,
                                   const std::filesystem::path& folder);

}  // namespace softcuda
