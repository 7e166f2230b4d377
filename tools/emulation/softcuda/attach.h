// Puts softcuda in the place of the CUDA runtime inside a loaded libnccl.
//
// NCCL links the runtime statically; its entry points are named in the .symtab of every official
// build, so a jump to our function goes over each of them, in this process's copy of the code
// alone: the file is untouched, and the runtime inside never runs. Driver functions are asked for
// through the runtime (cudaGetDriverEntryPoint) and come from here too; up to 2.20 NCCL opens
// libcuda.so for that, and always libnvidia-ml.so.1: small libraries of these names are loaded
// first (stubs.h).
#pragma once

#include <string>

#include "module.h"

namespace softcuda {

// handle: from dlopen, before anything is called in the library. Empty, or a sentence that says why
// this library can't be used; then nothing was changed that matters, but NCCL must not be called.
// symbols: a file of the same build that has the symbol table, for a stripped library; empty where
// the library has its own. Not thread-safe. Repeated calls do nothing.
std::string attach(void* handle, const std::string& symbols = {});

// The library that a kernel's host stub belongs to; null when it is none that we are attached to.
const Module* module_of(const void* kernel_stub);

}  // namespace softcuda
