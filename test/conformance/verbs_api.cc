#include "conformance/verbs_api.h"

#include <dlfcn.h>

#include <stdexcept>

namespace conformance {

namespace {

template <typename Function>
void take(void* library, const char* name, const char* version, Function*& out,
          bool optional = false) {
  out = reinterpret_cast<Function*>(::dlvsym(library, name, version));
  if (!out && !optional)
    throw std::runtime_error(std::string(name) + " at " + version + " is not there");
}

VerbsApi load() {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW);
  if (!library) throw std::runtime_error(::dlerror());
  constexpr const char* kBase = "IBVERBS_1.1";
  VerbsApi api;
  take(library, "ibv_get_device_list", kBase, api.get_device_list);
  take(library, "ibv_free_device_list", kBase, api.free_device_list);
  take(library, "ibv_get_device_name", kBase, api.get_device_name);
  take(library, "ibv_open_device", kBase, api.open_device);
  take(library, "ibv_close_device", kBase, api.close_device);
  take(library, "ibv_get_async_event", kBase, api.get_async_event);
  take(library, "ibv_ack_async_event", kBase, api.ack_async_event);
  take(library, "ibv_query_device", kBase, api.query_device);
  take(library, "ibv_query_port", kBase, api.query_port);
  take(library, "ibv_query_gid", kBase, api.query_gid);
  take(library, "ibv_query_qp", kBase, api.query_qp);
  take(library, "ibv_alloc_pd", kBase, api.alloc_pd);
  take(library, "ibv_dealloc_pd", kBase, api.dealloc_pd);
  take(library, "ibv_reg_mr", kBase, api.reg_mr);
  take(library, "ibv_dereg_mr", kBase, api.dereg_mr);
  take(library, "ibv_create_cq", kBase, api.create_cq);
  take(library, "ibv_destroy_cq", kBase, api.destroy_cq);
  take(library, "ibv_create_qp", kBase, api.create_qp);
  take(library, "ibv_modify_qp", kBase, api.modify_qp);
  take(library, "ibv_destroy_qp", kBase, api.destroy_qp);
  take(library, "ibv_reg_mr_iova2", "IBVERBS_1.8", api.reg_mr_iova2, true);
  take(library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12", api.reg_dmabuf_mr, true);
  return api;
}

}  // namespace

const VerbsApi& verbs() {
  static const VerbsApi api = load();
  return api;
}

}  // namespace conformance
