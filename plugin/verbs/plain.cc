// Verbs that have no event of their own: passed on, a failure is noted for the connection that it
// fails, and what they tell of GIDs is remembered.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "context/quiet.h"
#include "verbs/devices.h"
#include "verbs/failures.h"
#include "verbs/gid.h"
#include "verbs/handlers.h"
#include "verbs/listed.h"

namespace nnd::verbs::handlers {
namespace {

// Verbs return an errno, or -1 and set errno.
int errno_after(int rc) noexcept { return rc == -1 ? errno : rc; }

int noted(const char* verb, int rc) noexcept {
  if (rc != 0) register_failed_verb(verb, errno_after(rc));
  return rc;
}

template <class T>
T* noted(const char* verb, T* object) noexcept {
  if (object == nullptr) register_failed_verb(verb, errno);
  return object;
}

}  // namespace

int query_device(const Library& lib, ibv_context* context, ibv_device_attr* attr) {
  const int rc = noted("ibv_query_device", lib.real.query_device(context, attr));
  context::quietly([&, error = errno_after(rc)] { note_device(context, error, *attr); });
  return rc;
}

int query_port(const Library& lib, ibv_context* context, std::uint8_t port,
               _compat_ibv_port_attr* attr) {
  const int rc = noted("ibv_query_port", lib.real.query_port(context, port, attr));
  context::quietly([&, error = errno_after(rc)] {
    // At IBVERBS_1.1 it fills what the first libibverbs had, and nothing behind that.
    ibv_port_attr prefix{};
    if (error == 0) std::memcpy(&prefix, attr, offsetof(ibv_port_attr, flags));
    note_port(context, port, error, prefix);
  });
  // The first libibverbs' structure, a prefix of today's. NCCL passes over what is not active.
  if (rc == 0)
    context::quietly([&] {
      if (!may_see_port(context, port))
        reinterpret_cast<ibv_port_attr*>(attr)->state = IBV_PORT_DOWN;
    });
  return rc;
}

int query_gid(const Library& lib, ibv_context* context, std::uint8_t port, int index,
              ibv_gid* gid) {
  const int rc = noted("ibv_query_gid", lib.real.query_gid(context, port, index, gid));
  if (rc == 0)
    context::quietly(
        [&] { remember_gid(context, port, static_cast<unsigned>(index), raw_of(*gid)); });
  return rc;
}

int query_pkey(const Library& lib, ibv_context* context, std::uint8_t port, int index,
               __be16* pkey) {
  return noted("ibv_query_pkey", lib.real.query_pkey(context, port, index, pkey));
}

ibv_pd* alloc_pd(const Library& lib, ibv_context* context) {
  return noted("ibv_alloc_pd", lib.real.alloc_pd(context));
}

int dealloc_pd(const Library& lib, ibv_pd* pd) {
  return noted("ibv_dealloc_pd", lib.real.dealloc_pd(pd));
}

ibv_cq* create_cq(const Library& lib, ibv_context* context, int entries, void* cq_context,
                  ibv_comp_channel* channel, int vector) {
  return noted("ibv_create_cq", lib.real.create_cq(context, entries, cq_context, channel, vector));
}

int destroy_cq(const Library& lib, ibv_cq* cq) {
  return noted("ibv_destroy_cq", lib.real.destroy_cq(cq));
}

}  // namespace nnd::verbs::handlers
