// Kernels of the program's own (PyTorch's, for instance), as its __cudaRegisterFunction names them.
// Those that are known by name (kernels/) are played; a launch of any other is refused, and says
// its name.
#pragma once

namespace softcuda {

// name: lives as long as the program. Cheap: a framework registers some ten thousand.
void register_kernel(const void* host_stub, const char* name);

}  // namespace softcuda
