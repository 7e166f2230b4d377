#include "session/wiring.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/immortal.h"
#include "context/keep_loaded.h"
#include "context/raw_clock.h"
#include "diagnosis/own.h"
#include "facts/events.h"
#include "facts/node.h"
#include "facts/sysfs.h"
#include "facts/verbs_port.h"
#include "guard/guard.h"
#include "guard/pairs.h"
#include "inner/chain.h"
#include "inner/last_error.h"
#include "nccl_abi/releases.h"
#include "net/connector.h"
#include "net/dependencies.h"
#include "oob/calls.h"
#include "oob/events.h"
#include "peers/channel.h"
#include "profiler/events.h"
#include "profiler/layer.h"
#include "record/recorder.h"
#include "session/loaded.h"
#include "verbs/devices.h"
#include "verbs/hooks.h"
#include "verbs/install.h"
#include "verbs/qp_events.h"
#include "watch/own_facts.h"
#include "watch/thread.h"

namespace nnd::session {

namespace {

// Read at the first call; they live as long as the process. Thread-safe.
const config::Settings& settings() {
  static context::Immortal<config::Settings> instance(
      guard::settings_in_force(config::load_settings()));
  return *instance;
}

void start(nccl_abi::DebugLogger logger) {
  // First, so that a log that can't be written is told. The same function type but for the level,
  // which is an int in the ABI.
  record::set_nccl_logger(reinterpret_cast<record::NcclLogger>(logger));
  record::start(settings());
  guard::start(settings());
  context::raw_clock::calibrate();
  watch::start(settings());
}

// NCCL's profiler comes with a net layer or without.
void start_without_net(nccl_abi::DebugLogger logger) {
  if (logger != nullptr) record::set_nccl_logger(reinterpret_cast<record::NcclLogger>(logger));
  record::start(settings());
  tell_other_profiler(settings());
  watch::start(settings());
}

inner::Found find(const void* caller, int api) {
  return inner::find_inner(settings().inner, caller, api);
}

bool built_in(const inner::Found& found) {
  return found.method == inner::Method::kSymtab || found.method == inner::Method::kShape;
}

// NCCL's image: the transport's table lies in it, unless that is another plugin's.
const void* nccl_image(const inner::Found& found, const void* caller) {
  return built_in(found) ? found.vtable : caller;
}

std::atomic<int> nccl_version{0};
std::atomic<bool> node_told{false};
// What is wrapped is neither NCCL's own IB nor a plugin whose verbs come through us: nothing is
// known of its HCAs.
std::atomic<bool> other_transport{false};

// A verbs library is there and NCCL didn't resolve it through us: it took its HCAs before we came,
// and nothing can be said of them.
bool taken_before() {
  if (verbs::state().first_call_seen) return false;
  void* const loaded = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != nullptr) dlclose(loaded);
  return loaded != nullptr;
}

void tell_node(const std::vector<facts::VerbsDevice>& devices) noexcept try {
  if (node_told.exchange(true)) return;
  auto sources = facts::Sources::of_process(settings(), nccl_version.load());
  for (const facts::VerbsDevice& device : devices)
    if (device.dmabuf_errno >= 0) sources.dmabuf_errno[device.name] = device.dmabuf_errno;
  sources.gpu_driver = facts::ask_gpu_driver(facts::loaded_cuda_driver());
  guard::judge_found(
      [&]() -> std::optional<facts::Node> {
        facts::Node node = facts::collect(devices, sources);
        if (other_transport) node.rdma_unwanted = true;
        if (devices.empty() && !node.rdma_unwanted && taken_before()) return std::nullopt;
        return node;
      },
      sources.environment);
  if (facts::crashes_without_pci_path(nccl_version)) record::settle();  // before what it finds next
} catch (const std::exception& error) {
  guard::cannot_judge(error.what());
}

void tell_gdr(std::string_view device, int dmabuf_errno) noexcept try {
  const facts::Node& node = facts::current_node();
  const facts::Hca* const hca = node.find(device);
  if (hca == nullptr || !facts::gdr_to_come(node, *hca)) return;
  const auto state = facts::judge_gdr(node, dmabuf_errno);
  facts::emit_gdr(node, *hca, state);
  watch::note_gdr(device, state);
  guard::rejudge_and_tell_gdr(device, state);
} catch (...) {  // no memory for the event
}

// What is refused must be known before NCCL sees it. And 2.20 to 2.23 crash on a device that sysfs
// doesn't know: said before that happens.
bool facts_first(const std::vector<std::string>& devices) {
  if (guard::mode() == policy::Mode::kEnforce) return true;
  if (!facts::crashes_without_pci_path(nccl_version)) return false;
  const facts::FileTree sysfs(settings().sysfs);
  return !std::all_of(devices.begin(), devices.end(), [&](const std::string& name) {
    return sysfs.resolve("class/infiniband/" + name + "/device").has_value();
  });
}

constexpr verbs::Hooks kHooks{tell_node,           facts_first,    tell_gdr, guard::may_see_device,
                              guard::may_see_port, guard::may_pair};

// Empty, or one sentence why the verbs layer isn't in place.
std::string install_verbs(const inner::Found& found, const void* caller) {
  verbs::set_hooks(&kHooks);
  const bool socket = built_in(found) && found.name == "Socket";
  const bool plugin = found && !built_in(found);
  verbs::InstallResult result = verbs::install(nccl_image(found, caller), settings());
  // A plugin that links libibverbs is filtered as NCCL is; one that gets to it through libraries of
  // its own can't be.
  if (plugin) result = verbs::install(found.vtable, settings());
  const bool seen = result.ok && (!plugin || result.linked);
  // What was said of the first NCCL in the process stays so.
  if (found.trouble != inner::Trouble::kSecondNccl) {
    nccl_version = found.nccl_version;
    other_transport = socket || (plugin && !seen);
    if (found) watch::note_transport(found.name, found.nccl_version, NND_VERSION);
    if (socket)
      guard::tcp_is_wrapped();
    else
      guard::set_wrapped_transport(found.name);
  }
  if (seen) return {};
  std::string problem = plugin
                            ? "the net plugin " + found.module + " takes its HCAs past this library"
                        : result.problem.empty() ? "it can't be put in place"
                                                 : result.problem;
  if (!socket) guard::cannot_enforce({problem, plugin});
  return problem;
}

// NCCL that took its verbs before we came has all HCAs.
void counted(int ndev) noexcept try {
  if (ndev > 0 && !other_transport && !verbs::device_list_seen())
    guard::cannot_enforce({"NCCL took its HCAs without asking through this library"});
} catch (...) {  // no memory
}

// Where NCCL didn't ask for the verbs devices (NCCL_IB_DISABLE, another transport, no libibverbs),
// the facts are told without them.
std::string hca_summary() {
  verbs::end_device_list();
  tell_node({});
  const verbs::State layer = verbs::state();
  return guard::hca_summary() +
         (layer.installed && !layer.first_call_seen
              ? "; NCCL has called no verbs through the shim yet"
              : "") +
         (layer.too_many_libraries ? "; too many verbs libraries: some are not seen" : "");
}

std::optional<net::PortFacts> port(const std::string& name, int nccl_port) {
  const facts::Node& node = facts::current_node();
  if (facts::hca_of(node, name) == nullptr) return std::nullopt;
  net::PortFacts known;
  const facts::Port* const found = facts::verbs_port(node, name, nccl_port, guard::may_see_port);
  if (found == nullptr) return known;
  known.number = found->number;
  known.link_layer = static_cast<std::uint8_t>(found->link_layer);
  if (const facts::Gid* const picked = found->picked()) {
    known.gid = picked->raw;
    if (found->ethernet() && picked->type == facts::GidType::kRoceV1) known.roce = 1;
    if (found->ethernet() && picked->type == facts::GidType::kRoceV2) known.roce = 2;
  }
  return known;
}

void found(const inner::Found& found, int api, const void* caller) {
  context::keep_loaded(nccl_image(found, caller));  // its slots and tables lead here, and we there
  context::keep_loaded(found.vtable);
  const OtherLayers others{install_verbs(found, caller),
                           bring_profiler(settings(), found.nccl_version, caller)};
  oob::install(nccl_image(found, caller));
  if (const auto nccl = inner::module_of(nccl_image(found, caller))) inner::ask_for_errors(*nccl);
  tell_loaded(found, api, others, settings());
}

// Whether the policy and the environment restrict where the channel may be.
bool peers_restricted() {
  return guard::rules().peers.subnets || !settings().peers_network.empty();
}

bool peers_may_meet(const context::Gid& ip) {
  if (!peers::wanted()) return false;
  const facts::IpAddress address = facts::gid_address(ip);
  const auto own = facts::parse_prefix(settings().peers_network);
  return guard::rules().peers.allow(address) && (!own || own->contains(address));
}

void tell_door(const context::Gid& ip, nccl_net_diag::trailer::Trailer& trailer) noexcept {
  if (!peers_may_meet(ip)) return;
  if (const auto endpoint = peers::listening(trailer.listen, ip)) {
    trailer.port = endpoint->port;
    trailer.secret = endpoint->secret;
  }
}

void take_door(const nccl_net_diag::trailer::Trailer& trailer, const context::Gid& ip) noexcept {
  if (peers_may_meet(ip))
    peers::connecting(trailer.proc, trailer.listen, ip, {trailer.port, trailer.secret},
                      !peers_restricted());
}

// Of a plugin that is too old to be wrapped our init never runs: there is no log, and NCCL's logger
// is not known.
void tell_left_alone(int api) {
  static std::atomic<bool> told{false};
  if (settings().disable || told.exchange(true)) return;
  const diagnosis::Diagnosis found = diagnose(diagnosis::TooOldToWrap{api});
  std::fprintf(stderr, "libnccl-net-diag: %s: %s %s\n",
               std::string(nccl_net_diag::cause_id(found.cause)).c_str(), found.sentence.c_str(),
               found.remedy.c_str());
}

}  // namespace

inner::Offer offer_net(int api) noexcept try {
  const inner::Offer out = inner::choose_offer(settings().inner, api);
  if (out.theirs != nullptr) tell_left_alone(api);
  return out;
} catch (...) {  // no memory: NCCL finds none of this version
  return {};
}

ProfilerOffer offer_profiler(int api) noexcept try {
  return offer_profiler(settings(), api);
} catch (...) {  // no memory: NCCL finds none of this version
  return {};
}

void wire() {
  profiler::dependencies() = {start_without_net,
                              [](nccl_abi::Result rc) { tell_other_failed(settings(), rc); }};
  watch::ask_for_last_words(inner::last_error);
  watch::also_look([](std::uint64_t mono_ns) {
    profiler::look(mono_ns);
    net::end_given_up(mono_ns);
  });
  net::dependencies() = {
      [] { return settings().disable; },
      start,
      find,
      found,
      [] { tell_hcas_found(hca_summary()); },
      port,
      oob::tell_init_done,
      {guard::network_refusal, guard::refuses_at_init, counted, guard::connect_deadline_sec},
      {tell_door, take_door}};
}

}  // namespace nnd::session
