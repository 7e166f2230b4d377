// A fake verbs library and fake NCCL images, as the tests use them.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "fixtures/fake_control.h"
#include "log.h"
#include "verbs/install.h"
#include "verbs/table.h"

template <class F>
F* function_in(void* module, const char* name) {
  void* found = ::dlsym(module, name);
  if (found == nullptr) throw std::runtime_error(std::string("fixture lacks ") + name);
  return reinterpret_cast<F*>(found);
}

inline void* open_module(const char* path) {
  void* module = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw std::runtime_error(::dlerror());
  return module;
}

// A module that looks functions up as NCCL does. Its own functions are found beforehand: a look-up
// in between would clear dlerror().
struct FakeNccl {
  explicit FakeNccl(const char* path) : module(open_module(path)) {}
  void* module;
  void* (*open)(const char*) = function_in<void*(const char*)>(module, "nccl_open");
  void* (*dlvsym)(void*, const char*,
                  const char*) = function_in<void*(void*, const char*, const char*)>(module,
                                                                                     "nccl_dlvsym");
  void* (*dlsym)(void*, const char*) = function_in<void*(void*, const char*)>(module, "nccl_dlsym");
  char* (*dlerror)() = function_in<char*()>(module, "nccl_dlerror");
  const void* address = reinterpret_cast<const void*>(open);
};

// The verbs as such a module sees them after installation.
struct Verbs {
#define NND_MEMBER(field, symbol, node, ...) \
  using field##_type = __VA_ARGS__;          \
  field##_type* field = nullptr;
  NND_VERBS_TABLE(NND_MEMBER)
#undef NND_MEMBER
  FakeControl* control = nullptr;

  Verbs(const FakeNccl& nccl, void* library) {
#define NND_LOAD(field, symbol, node, ...) \
  field = reinterpret_cast<field##_type*>(nccl.dlvsym(library, symbol, node));
    NND_VERBS_TABLE(NND_LOAD)
#undef NND_LOAD
    control = function_in<FakeControl>(library, "fake_control");
  }
};

// One image and one library for all tests that only need working verbs.
struct World {
  FakeNccl nccl{NND_NCCL_LAZY};
  nnd::verbs::InstallResult installed = nnd::verbs::install(nccl.address, {});
  void* library = nccl.open(NND_FAKE_VERBS);
  Verbs verbs{nccl, library};
};
inline World& world() {
  start_log();
  static World& instance = *new World;
  return instance;
}

// A device opened by NCCL, with a PD; closed at the end.
struct Opened {
  World& w = world();
  ibv_device** list = nullptr;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;

  explicit Opened(int device = 0) {
    int count = 0;
    list = w.verbs.get_device_list(&count);
    context = w.verbs.open_device(list[device]);
    w.verbs.free_device_list(list);
    pd = w.verbs.alloc_pd(context);
  }
  ~Opened() {
    w.verbs.dealloc_pd(pd);
    w.verbs.close_device(context);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  ibv_qp* qp() const {
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.cap.max_send_wr = 64;
    return w.verbs.create_qp(pd, &attr);
  }
};
