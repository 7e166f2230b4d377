// Kernel launches: what the kernel has to do is read and judged at the launch, so that what isn't
// played is refused before any data moves; then it runs on the stream's thread, with one more
// thread per further channel.

#include "api_launch.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "api.h"
#include "attach.h"
#include "collectives.h"
#include "cuda_abi.h"
#include "log.h"
#include "refusal.h"
#include "sendrecv.h"
#include "stream.h"
#include "unplayed.h"
#include "work.h"
#include "work_counter.h"

namespace softcuda {
namespace {

int never_registered(const void* /*host_stub*/, Dim3 /*grid*/, void* /*stream*/,
                     void** /*parameters*/) {
  note_unplayed("a kernel that was never registered");
  return kInvalidDeviceFunction;
}
std::atomic<OtherLaunch*> launch_other = never_registered;

void play_channel(const Communicator& comm, const ChannelProgram& program) {
  if (program.work_done) *comm.channel(program.channel).work_done() = *program.work_done;
  if (program.work_consumed)
    if (auto* counter = comm.work_consumed(program.channel)) *counter = *program.work_consumed;
  WorkCounter counter(comm, program.channel);
  for (const Batch& batch : program.batches) {
    const auto* abort = comm.abort_flag();
    if (abort != nullptr && *abort != 0) return;
    counter.start(batch.told);
    play_transfers(comm, program.channel, batch);
    for (const CollectiveWork& work : batch.collectives)
      play_collective(comm, program.channel, work);
    counter.complete(batch.told);
  }
}

void play(const Communicator& comm, const Program& program) {
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < program.channels.size(); ++i)
    others.emplace_back([&, i] { play_channel(comm, program.channels[i]); });
  if (!program.channels.empty()) play_channel(comm, program.channels.front());
  for (auto& thread : others) thread.join();
}

struct Arguments {
  std::vector<char> bytes;  // one block, or three pointers up to 2.20
};

Arguments collect(void** parameters, void** extra) {
  Arguments out;
  if (extra != nullptr) {
    const void* block = nullptr;
    std::size_t bytes = 0;
    for (; reinterpret_cast<std::uintptr_t>(extra[0]) != kLaunchParamEnd; extra += 2) {
      const auto key = reinterpret_cast<std::uintptr_t>(extra[0]);
      if (key == kLaunchParamBuffer) block = extra[1];
      if (key == kLaunchParamBufferSize) bytes = *static_cast<const std::size_t*>(extra[1]);
    }
    const auto* begin = static_cast<const char*>(block);
    if (begin != nullptr) out.bytes.assign(begin, begin + bytes);
  } else if (parameters != nullptr) {
    constexpr std::size_t kCount = 3;  // communicator, channel mask, work list
    out.bytes.resize(kCount * sizeof(std::uint64_t));
    for (std::size_t i = 0; i < kCount; ++i)
      std::memcpy(out.bytes.data() + i * sizeof(std::uint64_t), parameters[i],
                  sizeof(std::uint64_t));
  }
  return out;
}

Program read_program(const Module& module, const Communicator& comm, Arguments& arguments) {
  char* base = arguments.bytes.data();
  KernelArguments kernel{.comm = field<void*>(base, 0),
                         .channel_mask = field<std::uint64_t>(base, 8),
                         .work = nullptr,
                         .storage = 0,
                         .work_mask = 0,
                         .work_buffer = nullptr,
                         .base = base};
  if (module.layout().style != WorkStyle::kBatches) {
    kernel.work = field<char*>(base, 16);
    return read_work_lists(module, comm, kernel);
  }
  constexpr std::size_t kHead = 32;  // ncclDevKernelArgs, aligned to 16; batches follow
  kernel.storage = field<unsigned char>(base, 16);
  kernel.work_mask = field<std::uint32_t>(base, 20);
  kernel.work_buffer = field<char*>(base, 24);
  kernel.work = base + kHead;
  return read_work_batches(module, comm, kernel);
}

int launch(const void* function, Dim3 grid, void* stream, void** parameters, void** extra) {
  const Module* module = module_of(function);
  if (module == nullptr) return launch_other.load()(function, grid, stream, parameters);
  Arguments arguments = collect(parameters, extra);
  if (arguments.bytes.size() < 3 * sizeof(std::uint64_t)) return kInvalidValue;
  const std::string& name = *module->kernel_name(function);
  const Communicator comm(module->layout(), field<void*>(arguments.bytes.data(), 0));
  auto program = std::make_shared<Program>(read_program(*module, comm, arguments));
  if (!program->refusal.empty()) {
    const std::string sentence = refusal_sentence(program->refusal);
    note_unplayed(program->refusal);
    log("{} is refused: {}", name, sentence);
    keep_refusal(sentence);
    return kNotSupported;
  }
  log("launch {} on {} channels", name, program->channels.size());
  return enqueue(stream, [comm, program] { play(comm, *program); });
}

int launch_kernel(const void* function, Dim3 grid, Dim3 /*block*/, void** parameters,
                  std::size_t /*shared*/, void* stream) {
  return launch(function, grid, stream, parameters, nullptr);
}
int launch_kernel_exc(const RuntimeLaunchConfig* config, const void* function, void** parameters) {
  return launch(function, config->grid, config->stream, parameters, nullptr);
}
int driver_launch(void* function, unsigned x, unsigned y, unsigned z, unsigned, unsigned, unsigned,
                  unsigned /*shared*/, void* stream, void** parameters, void** extra) {
  return launch(function, {x, y, z}, stream, parameters, extra);
}
int driver_launch_ex(const DriverLaunchConfig* config, void* function, void** parameters,
                     void** extra) {
  return launch(function, config->grid, config->stream, parameters, extra);
}

// A kernel's handle is the address of its host stub.
int function_by_symbol(void** function, const void* symbol) {
  *function = const_cast<void*>(symbol);
  return kSuccess;
}
int function_attributes(FunctionAttributes* out, const void* /*function*/) {
  *out = {.shared_bytes = 0,
          .const_bytes = 0,
          .local_bytes = 0,
          .max_threads_per_block = 1024,
          .registers = 96,
          .ptx_version = 10 * 9,
          .binary_version = 10 * 9,
          .cache_mode_ca = 0,
          .max_dynamic_shared_bytes = 49152};
  return kSuccess;
}
int set_function_attribute(const void* /*function*/, int /*attribute*/, int /*value*/) {
  return kSuccess;
}

}  // namespace

void launch_others_with(OtherLaunch* launch) { launch_other = launch; }

std::vector<ApiEntry> launch_api() {
  return {
      api_entry("cudaLaunchKernel", launch_kernel),
      api_entry("cudaLaunchKernelExC", launch_kernel_exc),
      api_entry("cudaGetFuncBySymbol", function_by_symbol),
      api_entry("cudaFuncGetAttributes", function_attributes),
      api_entry("cudaFuncSetAttribute", set_function_attribute),
      api_entry("cuLaunchKernel", driver_launch),
      api_entry("cuLaunchKernelEx", driver_launch_ex),
  };
}

}  // namespace softcuda
