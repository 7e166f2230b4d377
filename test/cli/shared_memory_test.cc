// What `check` says of /dev/shm is what NCCL does there, with as little and after the remedy; and
// who listens in this network namespace.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "cli/tool.h"
#include "support/catch.h"
#include "support/own_mounts.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

void expect(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

// Of a node with four GPUs, whose /dev is what is made here: a bound file stands for each device.
void make_dev(const fs::path& dev, const std::string& shm_size) {
  fs::create_directories(dev / "shm");
  for (const char* name : {"null", "zero", "urandom"}) {
    std::ofstream(dev / name) << "";
    expect(mount(("/dev/" + std::string(name)).c_str(), (dev / name).c_str(), nullptr, MS_BIND,
                 nullptr) == 0,
           "mount --bind of " + std::string(name));
  }
  for (int gpu = 0; gpu < 4; ++gpu) std::ofstream(dev / ("nvidia" + std::to_string(gpu))) << "";
  expect(nnd::test::mount_tmpfs(dev / "shm", shm_size), "tmpfs for /dev/shm");
  expect(mount(dev.c_str(), "/dev", nullptr, MS_BIND | MS_REC, nullptr) == 0, "mount over /dev");
}

json troubles() {
  const Outcome outcome = run_tool({"check", "--nccl", NND_CLI_NCCL, "--json"});
  return outcome.json().at("inside").at("troubles");
}

bool names(const json& troubles, const std::string& cause) {
  for (const json& one : troubles)
    if (one.at("cause") == cause && !one.at("fix").get<std::string>().empty()) return true;
  return false;
}

json rehearsal() {
  return run_tool({"rehearse", "--nccl", NND_CLI_NCCL, "--scenario",
                   NND_SCENARIOS "/two-nodes-8-hca-bond.toml", "--ranks", "2", "--size", "64K",
                   "--json", "--quiet"})
      .json();
}

void listen_at(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);  // for the rest of this process
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  expect(
      fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 1) == 0,
      "listen at " + std::to_string(port));
}

}  // namespace

TEST_CASE("/dev/shm: what check says, NCCL does", "[shared-memory]") {
  const TemporaryDir scratch;
  nnd::test::in_own_mounts([&] {
    make_dev(scratch.path() / "dev", "20m");
    expect(names(troubles(), "LIM-SHM"), "check says nothing of 20 MiB");
    const json failed = rehearsal();
    expect(failed.at("exit_code") == 1, "NCCL was content with 20 MiB");
    expect(failed.at("report").at("cause") == "LIM-SHM" &&
               failed.at("report").at("blame") == "not the network",
           "it failed of something else: " + failed.at("report").dump());
    // The remedy: more of it.
    expect(mount(nullptr, "/dev/shm", nullptr, MS_REMOUNT, "size=400m") == 0, "remount");
    expect(!names(troubles(), "LIM-SHM"), "400 MiB are not enough: " + troubles().dump());
    const json fine = rehearsal();
    expect(fine.at("exit_code") == 0, "NCCL fails with 400 MiB: " + fine.dump());
  });
}

TEST_CASE("a service mesh's proxy, by what it listens at", "[shared-memory]") {
  const TemporaryDir scratch;
  nnd::test::in_own_mounts([&] {
    expect(unshare(CLONE_NEWNET) == 0, "a network namespace");
    make_dev(scratch.path() / "dev", "400m");
    listen_at(15001);
    expect(!names(troubles(), "OOB-MESH"), "one port is no proxy");
    listen_at(15006);
    expect(names(troubles(), "OOB-MESH"), "the proxy is not named");
  });
}
