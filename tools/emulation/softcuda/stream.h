// Streams: a stream is a queue that one thread works off in order. The thread is needed: NCCL
// starts its proxy only after a launch has returned, so a kernel can't run inside the launch call.
#pragma once

#include <functional>

#include "cuda_abi.h"

namespace softcuda {

using StreamHandle = void*;  // null and the values 1 and 2 are the current device's default stream

StreamHandle create_stream();
// Returns at once; what is queued is still done.
Error destroy_stream(StreamHandle stream);
Error enqueue(StreamHandle stream, std::function<void()> work);
Error synchronize(StreamHandle stream);
// kSuccess when idle, kNotReady while there is work.
Error query(StreamHandle stream);
// The device that was current when it was made.
int device_of_stream(StreamHandle stream);
// Waits for every stream of the process.
void synchronize_all();

}  // namespace softcuda
