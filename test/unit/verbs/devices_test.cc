// The device list: probed once, opened once, filtered in one place.
#include "verbs/devices.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "verbs/hooks.h"
#include "world.h"

using nnd::facts::VerbsDevice;

namespace {

std::vector<VerbsDevice> g_seen;
int g_times = 0;

nnd::verbs::Hooks g_hooks;

void see(const std::vector<VerbsDevice>& devices) {
  g_seen = devices;
  ++g_times;
}

// A verbs library of this test's own, not probed yet: a copy under another name.
struct Fresh {
  FakeNccl nccl{NND_NCCL_LAZY};
  void* library;
  Verbs verbs;
  explicit Fresh(const char* path) : library(load(path)), verbs(nccl, library) {
    g_seen.clear();
    g_times = 0;
  }
  void* load(const char* path) const {
    start_log();
    (void)nnd::verbs::install(nccl.address, {});
    g_hooks = {};
    g_hooks.devices_seen = see;
    nnd::verbs::set_hooks(&g_hooks);
    return nccl.open(path);
  }
  ~Fresh() { nnd::verbs::set_hooks(nullptr); }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
};

bool always(const std::vector<std::string>&) { return true; }

std::vector<std::pair<std::string, int>> g_answers;
void hear(std::string_view device, int error) { g_answers.emplace_back(device, error); }

}  // namespace

TEST_CASE("No verb is called before NCCL has called it, and its answers become the facts") {
  const Fresh w(NND_WATCHED_VERBS);
  g_hooks.dmabuf_answered = hear;
  g_answers.clear();
  FakeControl& control = *w.verbs.control;
  control.open_errno = EIO;  // the first time
  control.query_port_error = EBUSY;
  ibv_device** list = w.verbs.get_device_list(nullptr);
  CHECK(control.opened == 0);
  errno = 0;
  CHECK(w.verbs.open_device(list[0]) == nullptr);
  CHECK(errno == EIO);
  ibv_context* context = w.verbs.open_device(list[1]);
  ibv_device_attr device_attr;
  CHECK(w.verbs.query_device(context, &device_attr) == 0);
  ibv_port_attr attr;
  CHECK(w.verbs.query_port(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(&attr)) == EBUSY);
  ibv_pd* pd = w.verbs.alloc_pd(context);
  CHECK(w.verbs.reg_dmabuf_mr(pd, 0, 0, 0, -1, 0) == nullptr);
  CHECK(g_times == 0);
  w.verbs.free_device_list(list);

  // NCCL's calls and no others; what failed for NCCL is told so.
  CHECK(control.opened == 1);
  CHECK(control.query_device_calls == 1);
  CHECK(control.query_port_calls == 1);
  CHECK(control.alloc_pd_calls == 1);
  CHECK(g_times == 1);
  REQUIRE(g_seen.size() == 2);
  CHECK(g_seen[0].open_errno == EIO);
  CHECK(g_seen[0].ports.empty());
  CHECK(g_seen[1].open_errno == 0);
  CHECK(g_seen[1].firmware == "28.1");
  CHECK(g_seen[1].dmabuf_errno == EBADF);
  REQUIRE(g_seen[1].ports.size() == 1);
  CHECK(g_seen[1].ports[0].query_errno == EBUSY);
  CHECK(g_answers.empty());

  // An answer that comes later is told then, and once.
  CHECK(w.verbs.reg_dmabuf_mr(pd, 0, 0, 0, -1, 0) == nullptr);
  CHECK(g_answers.empty());
  control.dmabuf_errno = EOPNOTSUPP;
  CHECK(w.verbs.reg_dmabuf_mr(pd, 0, 0, 0, -1, 0) == nullptr);
  CHECK(g_answers == std::vector<std::pair<std::string, int>>{{"watched_1", EOPNOTSUPP}});
  w.verbs.dealloc_pd(pd);
  w.verbs.close_device(context);
}

TEST_CASE("What NCCL did not ask of a device is read when it is done with the list") {
  const bool freed = GENERATE(true, false);
  CAPTURE(freed);
  const Fresh w(freed ? NND_UNASKED_VERBS : NND_LEFT_VERBS);
  FakeControl& control = *w.verbs.control;
  ibv_device** list = w.verbs.get_device_list(nullptr);
  ibv_context* context = w.verbs.open_device(list[0]);  // and closes it; the other one never
  CHECK(w.verbs.close_device(context) == 0);
  if (freed)
    w.verbs.free_device_list(list);
  else
    nnd::verbs::end_device_list();  // an init that gave up
  CHECK(g_times == 1);
  REQUIRE(g_seen.size() == 2);
  for (const VerbsDevice& device : g_seen) {
    CHECK(device.open_errno == 0);
    REQUIRE(device.ports.size() == 1);
    CHECK(device.ports[0].state == IBV_PORT_ACTIVE);
    CHECK(device.ports[0].gids.size() == 2);
    CHECK(device.dmabuf_errno == -1);
  }
  CHECK(control.opened == control.closed);
  if (!freed) w.verbs.free_device_list(list);
}

TEST_CASE("Where the facts come first, each device is opened once, and that context goes to NCCL") {
  const Fresh w(NND_PROBED_VERBS);
  g_hooks.facts_first = always;
  FakeControl& control = *w.verbs.control;
  int count = 0;
  ibv_device** list = w.verbs.get_device_list(&count);
  REQUIRE(count == 2);
  CHECK(g_times == 1);
  CHECK(control.opened == 2);
  ibv_context* context = w.verbs.open_device(list[1]);
  CHECK(control.opened == 2);
  CHECK(context->device == list[1]);
  CHECK(control.closed == 0);
  ibv_context* again = w.verbs.open_device(list[1]);  // a second one is NCCL's own affair
  CHECK(again != context);
  CHECK(control.opened == 3);
  w.verbs.free_device_list(list);
  CHECK(control.closed == 1);  // the one that NCCL didn't open
  CHECK(control.devices_put == 2);
  CHECK(w.verbs.close_device(context) == 0);
  CHECK(w.verbs.close_device(again) == 0);

  REQUIRE(g_seen.size() == 2);
  const VerbsDevice& device = g_seen[1];
  CHECK(device.name == "probed_1");
  CHECK(device.uverbs_name == "uverbs1");
  CHECK(device.node_guid == 0x1122334455667788ULL);
  CHECK(device.firmware == "28.1");
  CHECK(device.dmabuf_errno == EBADF);
  REQUIRE(device.ports.size() == 1);
  CHECK(device.ports[0].state == IBV_PORT_ACTIVE);
  REQUIRE(device.ports[0].gids.size() == 2);
  CHECK(device.ports[0].gids[1].index == 3);
  CHECK(device.ports[0].gids[1].ifindex == 7);
  CHECK(device.ports[0].gids[1].type == nnd::facts::GidType::kRoceV2);
  CHECK(device.ports[0].pkeys == std::vector<std::uint16_t>{0xffff});

  // Later communicators ask again: nothing is probed again.
  list = w.verbs.get_device_list(nullptr);
  CHECK(g_times == 1);
  CHECK(control.opened == 3);
  w.verbs.free_device_list(list);
}

TEST_CASE(
    "Without the one-call GID table each index is asked, and a device that can't be opened is "
    "told") {
  const Fresh w(NND_POOR_VERBS);
  g_hooks.facts_first = always;
  FakeControl& control = *w.verbs.control;
  control.gid_table_missing = 1;
  control.open_errno = EACCES;
  ibv_device** list = w.verbs.get_device_list(nullptr);
  REQUIRE(g_seen.size() == 2);
  CHECK(g_seen[0].open_errno == EACCES);
  CHECK(g_seen[0].ports.empty());
  REQUIRE(g_seen[1].ports.at(0).gids.size() == 2);
  CHECK(g_seen[1].ports[0].gids[1].index == 3);
  CHECK(g_seen[1].ports[0].gids[1].type == nnd::facts::GidType::kUnknown);
  CHECK(control.query_gid_calls == 4);
  // NCCL's own attempt ends as ours did, and a second one is real.
  errno = 0;
  CHECK(w.verbs.open_device(list[0]) == nullptr);
  CHECK(errno == EACCES);
  ibv_context* context = w.verbs.open_device(list[0]);
  CHECK(context != nullptr);
  CHECK(w.verbs.close_device(context) == 0);
  w.verbs.free_device_list(list);
}

TEST_CASE("A filtered device is invisible, and given up with the list all the same") {
  const Fresh w(NND_FILTERED_VERBS);
  g_hooks.facts_first = always;
  g_hooks.may_see_device = [](std::string_view name) { return name != "filtered_0"; };
  int count = 0;
  ibv_device** list = w.verbs.get_device_list(&count);
  REQUIRE(count == 1);
  CHECK(std::string(list[0]->name) == "filtered_1");
  CHECK(list[1] == nullptr);
  CHECK(w.verbs.control->closed == 1);  // NCCL can't open it any more
  w.verbs.free_device_list(list);
  CHECK(w.verbs.control->devices_put == 2);
  CHECK(w.verbs.control->closed == 2);

  // A later list, which is not probed, leaves it out as well.
  list = w.verbs.get_device_list(&count);
  CHECK(g_times == 1);
  REQUIRE(count == 1);
  CHECK(std::string(list[0]->name) == "filtered_1");
  w.verbs.free_device_list(list);
  CHECK(w.verbs.control->devices_put == 4);
}

TEST_CASE("A port that may not be seen is down for NCCL") {
  const Fresh w(NND_DOWN_VERBS);
  ibv_device** list = w.verbs.get_device_list(nullptr);
  ibv_context* context = w.verbs.open_device(list[0]);
  REQUIRE(context != nullptr);
  ibv_port_attr attr{};
  auto* const old = reinterpret_cast<_compat_ibv_port_attr*>(&attr);
  CHECK(w.verbs.query_port(context, 1, old) == 0);
  CHECK(attr.state == IBV_PORT_ACTIVE);
  g_hooks.may_see_port = [](std::string_view name, unsigned port) {
    return name != "down_0" || port != 1;
  };
  CHECK(w.verbs.query_port(context, 1, old) == 0);
  CHECK(attr.state == IBV_PORT_DOWN);
  CHECK(w.verbs.close_device(context) == 0);
  w.verbs.free_device_list(list);
}
