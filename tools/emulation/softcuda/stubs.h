// libnvidia-ml.so.1 and libcuda.so: built as small libraries, carried inside this one, and loaded
// from memory before NCCL asks for them; the dynamic loader then finds them by their soname. A real
// one that is loaded already is refused.
#pragma once

#include <string>

namespace softcuda {

// Once per process; takes the GPU list as it is then. Empty, or why it couldn't be done.
std::string load_stubs();

}  // namespace softcuda
