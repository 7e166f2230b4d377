// find_in LIBNCCL: loads it, and prints how and where its own transports (and, where the net plugin
// is asked for them, GIN backends) are found, one line each: name, method, offset in the library,
// microseconds. Exit 1 and the reason where one isn't.
// find_in --apis 2.28.9: prints the newest versions of that NCCL's net and profiler APIs.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "inner/find.h"
#include "inner/search.h"
#include "nccl_abi/releases.h"

namespace {

using namespace nnd::inner;

struct Place {
  std::uintptr_t address;
  Method method;
  std::string why;
};

template <class Find>
bool show(const char* name, const Module& nccl, const Find& find) {
  const auto start = std::chrono::steady_clock::now();
  const Place place = find();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (place.address == 0) {
    std::printf("%s: %s\n", name, place.why.c_str());
    return false;
  }
  std::printf("%s %s %zx %.0f\n", name, to_string(place.method),
              static_cast<std::size_t>(place.address - nccl.base), took.count());
  return true;
}

Place place_of(const Found& found) {
  return {reinterpret_cast<std::uintptr_t>(found.vtable), found.method, found.why};
}

Place place_of(const Hit& hit) { return {hit.address, hit.method, hit.why}; }

bool show_all(const void* caller) {
  const Module nccl = *module_of(caller);
  const int version = nccl_version(nccl);
  const int net = nccl_abi::net_version_of(version);
  bool all = show("IB", nccl, [&] { return place_of(find_ib(caller, net)); });
  all &= show("Socket", nccl, [&] { return place_of(find_socket(caller, net)); });
  if (nccl_abi::kForwardsGin.has(version)) {
    const Shape proxy{"GIN_IB_PROXY", std::string(nccl_abi::kGinProxySlots)};
    const Shape gdaki{"GIN_IB_GDAKI", std::string(nccl_abi::kGinGdakiSlots)};
    all &=
        show("GIN_IB_PROXY", nccl, [&] { return place_of(search(nccl, "ncclGinIbProxy", proxy)); });
    all &=
        show("GIN_IB_GDAKI", nccl, [&] { return place_of(search(nccl, "ncclGinIbGdaki", gdaki)); });
  }
  return all;
}

int print_apis(const char* nccl) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (std::sscanf(nccl, "%d.%d.%d", &major, &minor, &patch) != 3) return 2;
  const nccl_abi::Apis apis = nccl_abi::apis_of(nccl_abi::nccl_code(major, minor, patch));
  std::printf("%d %d\n", apis.net, apis.profiler);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--apis") return print_apis(argv[2]);
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  const void* caller = library != nullptr ? dlsym(library, "ncclGetVersion") : nullptr;
  if (caller == nullptr) {
    std::fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: find_in LIBNCCL");
    return 2;
  }
  return show_all(caller) ? 0 : 1;
}
