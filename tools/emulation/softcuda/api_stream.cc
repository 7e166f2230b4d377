// Streams and events.
#include <cstdint>
#include <utility>

#include "api.h"
#include "cuda_abi.h"
#include "event.h"
#include "give_way.h"
#include "stream.h"

namespace softcuda {
namespace {

int stream_create(void** stream) {
  *stream = create_stream();
  return kSuccess;
}
int stream_create_flags(void** stream, unsigned /*flags*/) { return stream_create(stream); }
int stream_create_priority(void** stream, unsigned /*flags*/, int /*priority*/) {
  return stream_create(stream);
}
int stream_destroy(void* stream) { return destroy_stream(stream); }
int stream_synchronize(void* stream) { return synchronize(stream); }
int stream_query(void* stream) { return query(stream); }
int stream_wait_event(void* stream, void* event, unsigned /*flags*/) {
  return wait_event(stream, event);
}
int stream_get_id(void* stream, unsigned long long* id) {
  *id = reinterpret_cast<std::uintptr_t>(stream);
  return kSuccess;
}

// Never capturing a graph. The calls that ask have further parameters behind the status, untouched
// then.
int stream_capture_status(void* /*stream*/, int* status) {
  *status = 0;
  return kSuccess;
}
int exchange_capture_mode(int* mode) {
  thread_local int current = 0;
  std::swap(current, *mode);
  return kSuccess;
}

int launch_host_function(void* stream, void (*function)(void*), void* argument) {
  return enqueue(stream, [=] { function(argument); });
}

int event_create(void** event) {
  *event = create_event();
  return kSuccess;
}
int event_create_flags(void** event, unsigned /*flags*/) { return event_create(event); }
int event_destroy(void* event) {
  destroy_event(event);
  return kSuccess;
}
int event_record(void* event, void* stream) { return record_event(event, stream); }
int event_query(void* event) { return query_event(event); }
int event_synchronize(void* event) { return synchronize_event(event); }
int event_elapsed(float* ms, void* from, void* to) { return elapsed_ms(ms, from, to); }

template <typename T>
int write_value(void* stream, T* to, T value, unsigned /*flags*/) {
  return enqueue(stream, [=] { __atomic_store_n(to, value, __ATOMIC_RELEASE); });
}

int wait_value(void* stream, const std::uint32_t* at, std::uint32_t value, unsigned flags) {
  constexpr unsigned kCondition = 3;
  return enqueue(stream, [=] {
    for (int looks = 1;; ++looks) {
      const std::uint32_t now = __atomic_load_n(at, __ATOMIC_ACQUIRE);
      const bool there = (flags & kCondition) == kStreamWaitValueEqual
                             ? now == value
                             : static_cast<std::int32_t>(now - value) >= 0;
      if (there) return;
      pause_after(looks);
    }
  });
}

}  // namespace

std::vector<ApiEntry> stream_api() {
  return {
      api_entry("cudaStreamCreate", stream_create),
      api_entry("cudaStreamCreateWithFlags", stream_create_flags),
      api_entry("cudaStreamCreateWithPriority", stream_create_priority),
      api_entry("cudaStreamDestroy", stream_destroy),
      api_entry("cudaStreamSynchronize", stream_synchronize),
      api_entry("cudaStreamQuery", stream_query),
      api_entry("cudaStreamWaitEvent", stream_wait_event),
      api_entry("cudaStreamGetId", stream_get_id),
      api_entry("cudaStreamIsCapturing", stream_capture_status),
      api_entry("cudaStreamGetCaptureInfo", stream_capture_status),  // CUDA 13: the _v3 of 12
      api_entry("cudaStreamGetCaptureInfo_v2", stream_capture_status),
      api_entry("cudaStreamGetCaptureInfo_v3", stream_capture_status),
      api_entry("cudaThreadExchangeStreamCaptureMode", exchange_capture_mode),
      api_entry("cudaLaunchHostFunc", launch_host_function),
      api_entry("cudaEventCreate", event_create),
      api_entry("cudaEventCreateWithFlags", event_create_flags),
      api_entry("cudaEventDestroy", event_destroy),
      api_entry("cudaEventRecord", event_record),
      api_entry("cudaEventQuery", event_query),
      api_entry("cudaEventSynchronize", event_synchronize),
      api_entry("cudaEventElapsedTime", event_elapsed),
      api_entry("cuStreamWriteValue32", write_value<std::uint32_t>),
      api_entry("cuStreamWriteValue64", write_value<std::uint64_t>),
      api_entry("cuStreamWaitValue32", wait_value),
  };
}

}  // namespace softcuda
