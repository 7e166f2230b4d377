// The reduction of two buffers, as NCCL's kernels do it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "function.h"

namespace softcuda {

// out[i] = op(a[i], b[i]); out may be a or b. Buffers needn't be aligned. op_arg: only for
// Operation::kMinMax, the mask that NCCL 2.19 and later XOR into integers before they take the
// smaller (its lowest bit: 0 smaller, 1 larger, for floats). Operation::kNone copies a.
void reduce(const Function& function, std::uint64_t op_arg, void* out, const void* a, const void* b,
            std::size_t count);

// What comes before: Operation::kPreMulSum multiplies what a rank has itself by the scalar that
// op_arg holds, in the type's own bits. in may be out.
void scale(const Function& function, std::uint64_t op_arg, void* out, const void* in,
           std::size_t count);

// What comes behind the last step: Operation::kSumPostDiv divides the sum, by op_arg without its
// lowest bit, which says whether the integers have a sign. All others leave the data as it is.
void finish(const Function& function, std::uint64_t op_arg, void* data, std::size_t count);

}  // namespace softcuda
