#include "stubs.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "api.h"
#include "gpu.h"
#include "stubs/stub_abi.h"

// The libraries' bytes, put into read-only data by the assembler; the paths come from the build.
#define SOFTCUDA_EMBED(name, path)                                                                 \
  asm(".pushsection .rodata\n.balign 16\n.global " name "_begin\n" name "_begin:\n.incbin \"" path \
      "\"\n.global " name "_end\n" name "_end:\n.popsection\n")

SOFTCUDA_EMBED("softcuda_nvml", SOFTCUDA_NVML_FILE);
SOFTCUDA_EMBED("softcuda_libcuda", SOFTCUDA_LIBCUDA_FILE);

extern "C" {
__attribute__((visibility("hidden"))) extern const char softcuda_nvml_begin[], softcuda_nvml_end[];
__attribute__((visibility("hidden"))) extern const char softcuda_libcuda_begin[],
    softcuda_libcuda_end[];
}

namespace softcuda {
namespace {

struct Loaded {
  void* handle = nullptr;
  std::string error;
};

Loaded load(const char* soname, std::string_view bytes) {
  if (dlopen(soname, RTLD_NOW | RTLD_NOLOAD) != nullptr)
    return {nullptr, fmt::format("a real {} is loaded in this process already", soname)};
  const int fd = memfd_create(soname, MFD_CLOEXEC);
  if (fd < 0) return {nullptr, fmt::format("memfd_create: {}", std::strerror(errno))};
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t wrote = write(fd, rest.data(), rest.size());
    if (wrote <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  Loaded loaded;
  loaded.handle = dlopen(fmt::format("/proc/self/fd/{}", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.handle == nullptr) loaded.error = fmt::format("softcuda's {}: {}", soname, dlerror());
  return loaded;  // the file stays open: the loader knows libraries by path, and this number must
                  // not be used again
}

std::string load_nvml() {
  const Loaded nvml = load(
      "libnvidia-ml.so.1",
      {softcuda_nvml_begin, static_cast<std::size_t>(softcuda_nvml_end - softcuda_nvml_begin)});
  if (nvml.handle == nullptr) return nvml.error;
  static auto& list = *new std::vector<StubGpu>;  // the library keeps a pointer to it
  for (const PciAddress& gpu : gpus())
    list.push_back({gpu.domain, gpu.bus, gpu.device, gpu.function});
  const StubGpus given{list.data(), list.size(), kComputeMajor, kComputeMinor, have_nvswitch()};
  reinterpret_cast<void (*)(const StubGpus*)>(dlsym(nvml.handle, "softcuda_set_gpus"))(&given);
  return {};
}

std::string load_libcuda() {
  const Loaded cuda =
      load("libcuda.so", {softcuda_libcuda_begin,
                          static_cast<std::size_t>(softcuda_libcuda_end - softcuda_libcuda_begin)});
  if (cuda.handle == nullptr) return cuda.error;
  auto* lookup = reinterpret_cast<DriverLookup>(const_cast<void*>(find_api("cuGetProcAddress")));
  reinterpret_cast<void (*)(DriverLookup)>(dlsym(cuda.handle, "softcuda_set_lookup"))(lookup);
  return {};
}

}  // namespace

std::string load_stubs() {
  static bool done = false;
  if (done) return {};
  if (std::string error = load_nvml(); !error.empty()) return error;
  if (std::string error = load_libcuda(); !error.empty()) return error;
  done = true;
  return {};
}

}  // namespace softcuda
