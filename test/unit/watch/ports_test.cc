// Ports that get worse, in sysfs trees made for it, and one whose driver doesn't answer.
#include "watch/ports.h"

#include <filesystem>
#include <fstream>
#include <functional>

#include "scene.h"
#include "support/temp_dir.h"

using namespace nnd::watch::test;
using nnd::watch::Ports;

namespace {

namespace fs = std::filesystem;

// A port's counters as a driver shows them.
class Port {
 public:
  explicit Port(const std::string& device) : device_(device) {
    nnd::facts::watch_counters(root_.path());
    nnd::facts::count_port(device, 1);
  }
  Port& show(const std::string& group, const std::string& name, long value) {
    const fs::path dir = root_ / ("class/infiniband/" + device_ + "/ports/1/" + group);
    fs::create_directories(dir);
    std::ofstream(dir / name) << value << '\n';
    return *this;
  }

 private:
  const nnd::test::TempDir root_;
  std::string device_;
};

std::vector<json> port_events(const std::function<void()>& scene) {
  return nnd::test::only(nnd::test::recorded(scene), "port.event");
}

}  // namespace

TEST_CASE("a port that loses packets is told once, and again when it is ten times worse") {
  const auto told = port_events([] {
    Port port("mlx5_0");
    Ports ports(1);
    long sent = 0, lost = 0;
    const auto look = [&](long packets, long drops) {
      port.show("counters", "port_xmit_packets", sent += packets);
      port.show("hw_counters", "packet_seq_err", lost += drops);
      ports.look();
    };
    look(0, 0);
    look(100'000, 900);  // fewer than a hundredth
    look(100'000, 1'100);
    look(100'000, 5'000);
    look(100'000, 11'000);
    look(100'000, 0);
    look(100'000, 1'100);
  });
  REQUIRE(told.size() == 3);
  CHECK(told[0]["sev"] == "warn");
  CHECK(told[0]["cause"] == "LONG-DISTANCE");
  CHECK(told[0]["dev"] == json{{"name", "mlx5_0"}, {"port", 1}});
  CHECK(told[0]["counters"][0]["grown"] ==
        json{{"port_xmit_packets", 100'000}, {"packet_seq_err", 1'100}});
  CHECK(told[0]["msg"].get<std::string>().starts_with(
      "mlx5_0:1 has counted packet_seq_err +1100 within 0 s, in which it moved 100000 packets"));
  CHECK(told[1]["counters"][0]["grown"]["packet_seq_err"] == 11'000);
  CHECK(told[2]["counters"][0]["grown"]["packet_seq_err"] == 1'100);
}

TEST_CASE("late acknowledgements and spoilt packets are told, the cable by its own cause") {
  const auto told = port_events([] {
    Port port("bnxt_re0");
    Ports ports(1);
    const auto look = [&](long late, long symbols) {
      port.show("hw_counters", "to_retransmits", late);
      port.show("counters", "symbol_error", symbols);
      ports.look();
    };
    look(0, 0);
    look(9, 9);
    look(20, 9);
    look(20, 30);
  });
  REQUIRE(told.size() == 2);
  CHECK(told[0]["cause"] == "LONG-DISTANCE");
  CHECK(told[1]["cause"] == "LINK-ERRORS");
  CHECK(told[1]["dev"]["name"] == "bnxt_re0");
}

TEST_CASE("a busy port of a healthy fabric is not told") {
  CHECK(port_events([] {
          Port port("mlx5_0");
          Ports ports(1);
          for (long i = 0; i < 20; ++i) {
            port.show("counters", "port_xmit_packets", i * 1'000'000);
            port.show("hw_counters", "rp_cnp_handled", i * 5'000);
            port.show("hw_counters", "out_of_sequence", i * 90'000);
            port.show("hw_counters", "local_ack_timeout_err", i);
            ports.look();
          }
        }).empty());
}

TEST_CASE("a failure that asked is told what its port counts now") {
  const auto told = port_events([] {
    Port port("mlx5_0");
    Ports ports(1);
    port.show("hw_counters", "local_ack_timeout_err", 3);
    ports.look();
    port.show("hw_counters", "local_ack_timeout_err", 10);
    nnd::facts::need_counters({"mlx5_0", 1, 7, 4, nccl_net_diag::Cause::kWc12});
    ports.look();
    ports.look();
  });
  REQUIRE(told.size() == 1);
  CHECK(told[0]["sev"] == "info");
  CHECK(told[0]["conn"] == 7);
  CHECK(told[0]["failure"] == 4);
  CHECK(told[0]["cause"] == "WC-12");
  CHECK(told[0]["counters"][0]["grown"] == json{{"local_ack_timeout_err", 7}});
}

TEST_CASE("a driver that doesn't answer is told, by another thread") {
  const auto told = port_events([] {
    const nnd::facts::Reading reading{{"mlx5_0", 1}, 100 * kSec};
    nnd::watch::tell_silent_driver(std::nullopt, 200 * kSec);
    for (const std::uint64_t at : {99u, 109u, 120u, 130u})  // the first: before it began
      nnd::watch::tell_silent_driver(reading, at * kSec);
  });
  REQUIRE(told.size() == 1);
  CHECK(told[0]["cause"] == "DEV-SILENT");
  CHECK(told[0]["msg"] == "Reading the counters of mlx5_0:1 has not ended for 20 s.");
  CHECK(told[0]["dev"]["name"] == "mlx5_0");
}
