// In place of the CUDA compiler's own header of this name, which driver_types.h includes: the words
// by which declarations are marked for that compiler, and which mean nothing to another.
#pragma once

#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __host__
#define __device__
#define __location__(a)
#define __cudart_builtin__
#define CUDARTAPI
