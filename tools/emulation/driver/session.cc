#include "driver/session.h"

#include <array>

#include "driver/connect.h"
#include "driver/error.h"
#include "driver/logger.h"
#include "driver/measure.h"
#include "driver/transfer.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

std::string device_object(int dev) { return "device " + std::to_string(dev); }

json to_json(const Properties& p) {
  json out{{"name", p.name},
           {"pci_path", p.pci_path ? json(*p.pci_path) : json(nullptr)},
           {"guid", p.guid},
           {"ptr_support", p.ptr_support},
           {"speed_mbps", p.speed_mbps},
           {"port", p.port},
           {"latency_us", p.latency_us},
           {"max_comms", p.max_comms},
           {"max_recvs", p.max_recvs}};
  const auto put = [&out](const char* key, const auto& value) {
    if (value) out[key] = *value;
  };
  put("reg_is_global", p.reg_is_global);
  put("force_flush", p.force_flush);
  put("device_type", p.device_type);
  put("device_version", p.device_version);
  put("virtual_devices", p.virtual_devices);
  put("max_p2p_bytes", p.max_p2p_bytes);
  put("max_coll_bytes", p.max_coll_bytes);
  put("max_multi_request", p.max_multi_request);
  put("rail_id", p.rail_id);
  put("plane_id", p.plane_id);
  return out;
}

nccl_abi::Result ignore_event(void** /*event*/, int /*type*/, void* /*parent*/,
                              std::int64_t /*plugin*/, void* /*data*/) {
  return nccl_abi::Result::kSuccess;
}

}  // namespace

NetApi& Session::net() {
  if (plugin_) return plugin_->net();
  if (!builtin_) throw Error("no transport is loaded");
  return *builtin_;
}

int Session::add_connection(Connection connection) {
  const int id = next_id();
  connection.object = (connection.send ? "send " : "recv ") + std::to_string(id);
  connections_.emplace(id, std::move(connection));
  return id;
}

json Session::handle(const json& request, std::unique_ptr<Task>* task) {
  const std::string op = request.at("op");
  if (op == "load") return load(request);
  if (op == "init") return init(request);
  if (op == "finalize") return finalize(request);
  if (op == "devices") return devices();
  if (op == "properties") return properties(request);
  if (op == "listen") return listen(request);
  if (op == "close") return close_one(request);
  if (op == "logs") return {{"rc", 0}, {"lines", logged_lines()}};
  *task = begin(op, request);
  if (*task) return nullptr;
  if (more_)
    if (auto result = more_(*this, request)) return *std::move(result);
  throw Error("no such request: " + op);
}

std::unique_ptr<Task> Session::begin(const std::string& op, const json& request) {
  if (op == "connect") return begin_connect(*this, request);
  if (op == "accept") return begin_accept(*this, request, listeners_.at(request.at("listener")));
  if (op == "send") return begin_send(*this, request);
  if (op == "recv") return begin_recv(*this, request);
  if (op == "pingpong") return begin_pingpong(*this, request);
  if (op == "stream") return begin_stream(*this, request);
  return nullptr;
}

// {"nccl": file, "symbols": another one with its symbols, and "plugin": name or "builtin": "IB" or
// "Socket", "cuda_device": pretend that there is one}; nccl is loaded once.
json Session::load(const json& request) {
  if (!nccl_) {
    nccl_ = std::make_unique<NcclLibrary>(request.at("nccl"), request.value("symbols", ""));
    if (prepare_) prepare_(nccl_->handle());
    if (request.value("cuda_device", false)) nccl_->pretend_cuda_device();
  }
  unload();
  if (request.contains("plugin"))
    plugin_ = std::make_unique<Plugin>(request.at("plugin"), *nccl_);
  else
    builtin_ = nccl_->builtin(request.at("builtin"));
  return {{"rc", 0},
          {"nccl", nccl_->version()},
          {"nccl_path", nccl_->path()},
          {"net_version", net().version()},
          {"name", net().name()},
          {"path", plugin_ ? plugin_->path() : nccl_->path()}};
}

void Session::unload() {
  plugin_.reset();
  builtin_.reset();
}

// {"comm_id", "traffic_class"}
json Session::init(const json& request) {
  void* context = nullptr;
  InitArguments arguments;
  arguments.comm_id = request.value("comm_id", std::uint64_t{0x5eed});
  arguments.traffic_class = request.value("traffic_class", nccl_abi::kUndefined);
  arguments.logger = log_line;
  arguments.profiler = ignore_event;
  const auto start = Clock::now();
  const int rc = net().init(&context, arguments);
  const auto ns = std::chrono::nanoseconds(Clock::now() - start).count();
  const int id = next_id();
  contexts_[id] = context;
  trace_.add("net", "init", rc, {{"context", id}, {"is_null", context == nullptr}});
  // A plugin may know only now what it can do.
  return {{"rc", rc}, {"context", id}, {"ns", ns}, {"null_slots", net().null_slots()}};
}

json Session::finalize(const json& request) {
  const int id = request.at("context");
  int rc = 0;
  if (net().has_finalize()) {
    rc = net().finalize(context(id));
    trace_.add("net", "finalize", rc, {{"context", id}});
  }
  contexts_.erase(id);
  return {{"rc", rc}};
}

json Session::devices() {
  int count = -1;
  const int rc = net().devices(&count);
  trace_.add("net", "devices", rc, {{"count", count}});
  return {{"rc", rc}, {"count", count}};
}

json Session::properties(const json& request) {
  const int dev = request.at("dev");
  Properties properties;
  const int rc = net().get_properties(dev, &properties);
  const json detail = rc == 0 ? to_json(properties) : json(nullptr);
  trace_.add(device_object(dev), "getProperties", rc, detail);
  return {{"rc", rc}, {"properties", detail}};
}

// {"context", "dev"}: the handle comes back in hex.
json Session::listen(const json& request) {
  const int dev = request.at("dev");
  alignas(std::max_align_t) std::array<std::byte, nccl_abi::kHandleSize> handle{};
  void* comm = nullptr;
  const int rc = net().listen(context(request.value("context", 0)), dev, handle.data(), &comm);
  const int id = next_id();
  trace_.add(device_object(dev), "listen", rc, {{"listener", id}, {"is_null", comm == nullptr}});
  if (rc != 0) return {{"rc", rc}, {"stage", "listen"}};
  listeners_[id] = {comm, dev, "listen " + std::to_string(id)};
  return {{"rc", rc}, {"listener", id}, {"handle", to_hex(handle.data(), handle.size())}};
}

// {"conn": id} or {"listener": id}
json Session::close_one(const json& request) {
  if (request.contains("listener")) {
    const auto node = listeners_.extract(request.at("listener").get<int>());
    if (node.empty()) throw Error("no such listener");
    const int rc = net().close_listen(node.mapped().comm);
    trace_.add(node.mapped().object, "closeListen", rc);
    return {{"rc", rc}};
  }
  const auto node = connections_.extract(request.at("conn").get<int>());
  if (node.empty()) throw Error("no such connection");
  const auto& conn = node.mapped();
  const int rc = conn.send ? net().close_send(conn.comm) : net().close_recv(conn.comm);
  trace_.add(conn.object, conn.send ? "closeSend" : "closeRecv", rc);
  return {{"rc", rc}};
}

}  // namespace nnd::driver
