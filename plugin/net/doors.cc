// The doors as they are in production.
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/events.h"
#include "facts/node.h"
#include "inner/chain.h"
#include "net/session.h"
#include "record/recorder.h"
#include "verbs/devices.h"
#include "verbs/install.h"

namespace nnd::net {

namespace {

void start(const config::Settings& settings, nccl_abi::DebugLogger logger) {
  record::start(settings);
  // The same function type but for the level, which is an int in the ABI.
  record::set_nccl_logger(reinterpret_cast<record::NcclLogger>(logger));
}

inner::Found find(const void* caller, int api, const config::Settings& settings) {
  return inner::find_inner(settings.inner, caller, api);
}

// NCCL's image: the transport's table lies in it, unless that is another plugin's.
const void* nccl_image(const inner::Found& found, const void* caller) {
  const bool built_in =
      found.method == inner::Method::kSymtab || found.method == inner::Method::kShape;
  return built_in ? found.vtable : caller;
}

std::atomic<int> nccl_version{0};
std::atomic<bool> node_told{false};

void tell_node(const std::vector<facts::VerbsDevice>& devices) noexcept try {
  if (node_told.exchange(true)) return;
  auto sources = facts::Sources::of_process(settings(), nccl_version.load());
  for (const facts::VerbsDevice& device : devices)
    if (device.dmabuf_errno >= 0) sources.dmabuf_errno[device.name] = device.dmabuf_errno;
  facts::Node node = facts::collect(devices, sources);
  facts::emit_facts(node);
  facts::set_current_node(std::move(node));
} catch (...) {  // no memory for the facts: the job goes on
}

std::string install_verbs(const inner::Found& found, const void* caller,
                          const config::Settings& settings) {
  nccl_version = found.nccl_version;
  verbs::on_devices(tell_node);
  const verbs::InstallResult result = verbs::install(nccl_image(found, caller), settings);
  if (result.ok) return {};
  return result.problem.empty() ? "it can't be put in place" : result.problem;
}

// Where NCCL didn't ask for the verbs devices (NCCL_IB_DISABLE, another transport, no libibverbs),
// the facts are told without them.
std::string hca_summary() {
  tell_node({});
  const verbs::State layer = verbs::state();
  return facts::hca_summary(facts::current_node()) +
         (layer.installed && !layer.first_call_seen
              ? "; NCCL has called no verbs through the shim yet"
              : "") +
         (layer.too_many_libraries ? "; too many verbs libraries: some are not seen" : "");
}

std::array<std::uint8_t, 16> gid(const std::string& name, int port) {
  // A device that NCCL fused is named mlx5_0+mlx5_1.
  const facts::Port* const found = facts::current_node().find(
      std::string_view(name).substr(0, name.find('+')), static_cast<unsigned>(port));
  const facts::Gid* const picked = found != nullptr ? found->picked() : nullptr;
  return picked != nullptr ? picked->raw : std::array<std::uint8_t, 16>{};
}

}  // namespace

Doors& doors() {
  static Doors* const instance =
      new Doors{config::load_settings, start, find, install_verbs, hca_summary, gid};
  return *instance;
}

}  // namespace nnd::net
