// The libraries that libsoftcuda.so stands in for, by the names under which programs ask for them.
#pragma once

namespace softcuda {

inline constexpr const char* kRuntimeFile = "libsoftcuda.so";
inline constexpr const char* kRuntimeNames[] = {"libcudart.so.12", "libcudart.so.13", "libcuda.so",
                                                "libcuda.so.1", "libnvidia-ml.so.1"};

}  // namespace softcuda
