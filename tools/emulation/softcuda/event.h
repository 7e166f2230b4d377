// Events: a mark that a stream passes. Recording anew replaces the mark, as in CUDA. Thread-safe.
#pragma once

#include "cuda_abi.h"
#include "stream.h"

namespace softcuda {

using EventHandle = void*;

EventHandle create_event();
void destroy_event(EventHandle event);
Error record_event(EventHandle event, StreamHandle stream);
// kSuccess when the mark has passed or there is none, else kNotReady.
Error query_event(EventHandle event);
Error synchronize_event(EventHandle event);
// The stream's later work waits for the mark that the event has now.
Error wait_event(StreamHandle stream, EventHandle event);
// kInvalidHandle unless both marks have passed.
Error elapsed_ms(float* ms, EventHandle from, EventHandle to);

}  // namespace softcuda
