#include "driver/requests.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "driver/error.h"
#include "driver/logger.h"
#include "driver/profiler.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

// {"members": [dev...]}
json make_vdevice(Session& session, const json& request) {
  auto& net = session.net();
  if (!net.has_make_vdevice()) return {{"rc", 0}, {"missing", true}};
  int dev = -1;
  const int rc = net.make_vdevice(&dev, request.at("members"));
  session.trace().add("net", "makeVDevice", rc, {{"members", request.at("members")}, {"dev", dev}});
  return {{"rc", rc}, {"dev", dev}};
}

// {"conn", "size", "type"}: registers memory of that size, and deregisters it again.
json register_memory(Session& session, const json& request) {
  const auto& conn = session.connection(request.at("conn"));
  std::vector<std::byte> memory(request.at("size").get<std::size_t>());
  const int type = request.value("type", nccl_abi::kPtrHost);
  void* mhandle = nullptr;
  int rc = session.net().reg_mr(conn.comm, memory.data(), memory.size(), type, &mhandle);
  session.trace().add(conn.object, "regMr", rc, {{"size", memory.size()}, {"type", type}});
  if (rc != 0) return {{"rc", rc}, {"stage", "regMr"}};
  rc = session.net().dereg_mr(conn.comm, mhandle);
  session.trace().add(conn.object, "deregMr", rc);
  return {{"rc", rc}, {"stage", "deregMr"}};
}

json unload(Session& session) {
  session.unload();
  return {{"rc", 0}};
}

// What it keeps of every call and line: a rank that lives long needs none of it.
json forget(Session& session) {
  session.trace() = {};
  forget_logged_lines();
  return {{"rc", 0}};
}

json fork_child() {
  const pid_t child = fork();
  if (child < 0) throw Error("fork failed");
  if (child == 0) std::exit(0);  // with all that the libraries do at exit
  int status = 0;
  waitpid(child, &status, 0);
  return {{"rc", 0}, {"status", status}};
}

class Requests {
 public:
  std::optional<json> operator()(Session& session, const json& request) {
    const std::string op = request.at("op");
    if (op == "profile") return profile(session, request);
    if (op == "end_profile") return end_profile(request);
    if (op == "make_vdevice") return make_vdevice(session, request);
    if (op == "register") return register_memory(session, request);
    if (op == "unload") return unload(session);
    if (op == "trace") return json{{"rc", 0}, {"calls", session.trace().to_json()}};
    if (op == "forget") return forget(session);
    if (op == "fork") return fork_child();
    return std::nullopt;
  }

 private:
  // {"library", "version", "comm_hash"}
  json profile(Session& session, const json& request) {
    const int id = session.next_id();
    const Profiled& begun = profiled_[id] =
        begin_profile(request.at("library"), request.at("version"),
                      request.value("comm_hash", std::uint64_t{0x5eed}));
    return {{"rc", begun.rc}, {"profile", id}};
  }

  json end_profile(const json& request) {
    const auto node = profiled_.extract(request.at("profile").get<int>());
    if (node.empty()) throw Error("no such profile");
    return {{"rc", node.mapped().finalize()}};
  }

  std::map<int, Profiled> profiled_;
};

}  // namespace

MoreRequests test_requests() { return Requests(); }

}  // namespace nnd::driver
