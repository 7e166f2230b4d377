// `nccl-net-diag ping` as a user calls it: one process on each of two emulated hosts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>

#include "cli/exchange/listener.h"
#include "cli/fabrics.h"
#include "cli/places.h"
#include "cli/tool.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kToken = "a token of the test";

// Rail k meets rail k; nothing joins the rails, or rails and bond.
const std::string kRails = R"(
description = "two hosts, two rails and a bond each"
resolve_timeout_ms = 20
[[host]]
count = 2
name = "node{h}"
[[host.netdev]]
name = "bond0"
kind = "bond"
slaves = ["eno1", "eno2"]
speed_mbps = 50000
address = "10.1.0.{h+11}/16"
gateway = "10.1.0.1"
[[host.hca]]
count = 2
name = "mlx5_{i}"
address = "10.200.{i}.{h+1}/24"
speed_mbps = 400000
[[host.hca]]
name = "mlx5_bond_0"
netdev = "bond0"
speed_mbps = 25000
)";

// One subnet for all.
const std::string kFlat = R"(
resolve_timeout_ms = 20
[[host]]
count = 2
name = "node{h}"
[[host.hca]]
count = 2
name = "mlx5_{i}"
address = "10.200.{i}.{h+1}/16"
)";

// Two hosts, and where they meet.
class Hosts {
 public:
  explicit Hosts(const std::string& scenario)
      : places_(scenario), port_(std::to_string(nnd::test::free_port())) {}

  std::unique_ptr<Tool> listen(Variables more = {}) const {
    return start(1, {"ping", "--listen", address()}, std::move(more));
  }
  std::unique_ptr<Tool> call(std::vector<std::string> arguments, Variables more = {}) const {
    arguments.insert(arguments.begin(), {"ping", address(), "--json"});
    if (std::find(arguments.begin(), arguments.end(), "--duration") == arguments.end())
      arguments.insert(arguments.end(), {"--duration", "0.02"});
    return start(0, arguments, std::move(more));
  }
  std::string address() const { return "127.0.0.1:" + port_; }
  std::string port() const { return port_; }
  std::string file(const std::string& name, const std::string& content) const {
    return places_.dir().file(name, content);
  }

  std::unique_ptr<Tool> start(std::size_t host, std::vector<std::string> arguments,
                              Variables more) const {
    arguments.insert(arguments.end(), {"--nccl", NND_CLI_NCCL});
    more.emplace("NCCL_NET_DIAG_TOKEN", kToken);
    more.emplace("NCCL_NET_DIAG_POLICY", file("policy.toml", ""));
    for (const auto& [name, value] : places_.environment(host)) more.emplace(name, value);
    return std::make_unique<Tool>(arguments, more);
  }

 private:
  Places places_;
  std::string port_;
};

bool listens_at(const char* where, const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  inet_pton(AF_INET, where, &address.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool there = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return there;
}

// Within a patience that only bounds a failure.
bool has_processes(const Tool& tool, int wanted) {
  for (int tries = 0; tries < 3000; ++tries) {
    if (tool.processes() >= wanted) return true;
    poll(nullptr, 0, 20);
  }
  return false;
}

std::string port_of(const json& end) {
  return end["hca"].get<std::string>() + ":" + end["port"].dump();
}

std::string subnet_of(const std::string& hca) {
  return hca == "mlx5_bond_0" ? "10.1.0.0/16" : "10.200." + hca.substr(5) + ".0/24";
}

void check_reachable(const json& pair) {
  INFO(pair.dump(2));
  CHECK(pair["state"] == "reachable");
  CHECK(pair["connect_ms"] > 0);
  CHECK(pair["latency_us"]["p50"] > 0);
  CHECK(pair["latency_us"]["p99"] >= pair["latency_us"]["p50"]);
  CHECK(pair["latency_us"]["bytes"] == 8);
  for (const auto& row : pair["bandwidth"]) {
    CHECK(row["there_gb_per_s"] > 0);
    CHECK(row["back_gb_per_s"] > 0);
  }
  CHECK(pair["verified_bytes"] == 2 * (1 + 4097 + 65536 + (1 << 20)));
}

}  // namespace

TEST_CASE("each HCA with the one of its name: healthy, silent, complete", "[ping]") {
  const Hosts hosts(kFlat);
  const auto listener = hosts.listen();
  const auto caller = hosts.call({"--sizes", "64K,1M"});
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const json result = outcome.json();
  CHECK(result["ok"] == true);
  CHECK(result["ended"].is_null());
  CHECK(result["broken"].empty());
  REQUIRE(result["meetings"].size() == 2);  // both ways
  for (const auto& meeting : result["meetings"]) CHECK(meeting["outcome"] == "listens");
  REQUIRE(result["pairs"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& pair = result["pairs"][i];
    check_reachable(pair);
    const auto number = std::to_string(i);
    CHECK(port_of(pair["from"]) == "mlx5_" + number + ":1");
    CHECK(port_of(pair["to"]) == "mlx5_" + number + ":1");
    CHECK(pair["from"]["host"] == "node0");
    CHECK(pair["to"]["host"] == "node1");
    CHECK(pair["from"]["gid"] == "::ffff:10.200." + number + ".1");
    CHECK(pair["to"]["gid"] == "::ffff:10.200." + number + ".2");
    CHECK(pair["from"]["subnet"] == "10.200.0.0/16");
    CHECK(pair["from"]["gid_index"] == 3);
    CHECK(pair["policy"] == "fine");
    CHECK(pair["troubles"].empty());
    CHECK(pair["bandwidth"].size() == 2);
  }
  for (const auto& host : result["hosts"]) {
    CHECK(host["nccl"] == NND_CLI_NCCL);
    CHECK(host["check"]["proposal"].size() >= 2);
    CHECK(host["check"]["hcas"].size() == 2);
  }
  const Outcome other = listener->wait();
  INFO(other.out << other.err);
  CHECK(other.exit_code == 0);
  CHECK(other.out.find("nccl-net-diag ping " + hosts.address()) != std::string::npos);
  CHECK(other.out.find(kToken) == std::string::npos);  // what the user gave is not shown again
  for (const auto* tool : {caller.get(), listener.get()}) {
    CHECK(tool->left_nothing());
    CHECK(tool->processes() == 0);
  }
}

TEST_CASE("the matrix shows exactly the pairs that can talk, and why the others can't", "[ping]") {
  const Hosts hosts(kRails);
  const auto listener = hosts.listen();
  const auto page = hosts.file("page.html", "");
  const auto caller = hosts.call({"--matrix", "--sizes", "64K", "--html", page});
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);  // rails that don't meet are none that are broken
  CHECK(listener->wait().exit_code == 0);
  const json result = outcome.json();
  REQUIRE(result["pairs"].size() == 9);
  CHECK(result["counts"]["reachable"] == 3);
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& pair : result["pairs"]) {
    INFO(pair.dump(2));
    const std::string from = pair["from"]["hca"], to = pair["to"]["hca"];
    seen.emplace(from, to);
    CHECK(pair["from"]["subnet"] == subnet_of(from));
    CHECK(pair["to"]["subnet"] == subnet_of(to));
    if (from == to) {
      check_reachable(pair);
      continue;
    }
    CHECK(pair["state"] == "unreachable");
    CHECK(pair["apart"] == true);
    CHECK(pair["errno"] == 110);
    CHECK(pair["errno_name"] == "ETIMEDOUT");
    CHECK(pair["cause"] == "SUB-RAIL");
    CHECK(pair["transition"] == "RTR");
    CHECK_FALSE(pair["msg"].get<std::string>().empty());
    CHECK_FALSE(pair["fix"].get<std::string>().empty());
    CHECK(pair["policy"] == "warned");
    CHECK(pair["rules"][0]["rule"] == "pair.subnet");
    CHECK_FALSE(pair.contains("bandwidth"));
  }
  CHECK(seen.size() == 9);
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK(text.starts_with("<!DOCTYPE html>"));
  for (const char* const outside : {"http:", "https:", "src=", "@import", "url("})
    CHECK(text.find(outside) == std::string::npos);  // it needs no other file
  CHECK(text.find("script-src 'none'") != std::string::npos);
  CHECK(text.find("unsafe-inline") == std::string::npos);
  CHECK(text.find("<pre>export NCCL_NET_PLUGIN=diag\nexport ") !=
        std::string::npos);  // to be pasted
  std::size_t green = 0;
  for (auto at = text.find("<td class=\"step"); at != text.npos;
       at = text.find("<td class=\"step", at + 1))
    ++green;
  CHECK(green == 6);  // bandwidth and latency of each
}

TEST_CASE("where the policy enforces, the pair is refused and the bond is not pinged", "[ping]") {
  const Hosts hosts(kRails);
  const Variables enforce{
      {"NCCL_NET_DIAG_MODE", "enforce"},
      {"NCCL_NET_DIAG_POLICY", hosts.file("strict.toml", "[hca]\nbond = \"deny\"\n")}};
  const auto listener = hosts.listen(enforce);
  const auto caller = hosts.call({"--matrix", "--sizes", "64K"}, enforce);
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);  // what is to talk does, and the bond was kept out
  CHECK(outcome.json()["verdict"].get<std::string>().find("keeps 1 HCA out") != std::string::npos);
  CHECK(listener->wait().exit_code == 0);
  const json result = outcome.json();
  REQUIRE(result["pairs"].size() == 4);
  for (const auto& pair : result["pairs"]) {
    INFO(pair.dump(2));
    if (pair["from"]["hca"] == pair["to"]["hca"]) {
      check_reachable(pair);
      continue;
    }
    CHECK(pair["state"] == "refused");
    CHECK(pair["policy"] == "refused");
    CHECK(pair["errno"] == 113);
    CHECK(pair["cause"] == "SUB-RAIL");
    CHECK(pair["rules"][0]["rule"] == "pair.subnet");
  }
  for (const auto& host : result["hosts"])
    for (const auto& hca : host["check"]["hcas"])
      CHECK(hca["verdict"] == (hca["name"] == "mlx5_bond_0" ? "refused" : "taken"));
}

TEST_CASE("a host that meets nothing over there is broken", "[ping]") {
  const Hosts hosts(kApart);
  const auto listener = hosts.listen();
  const auto caller = hosts.call({"--sizes", "64K"});
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(listener->wait().exit_code == 0);
  const json result = outcome.json();
  REQUIRE(result["pairs"].size() == 1);
  CHECK(result["pairs"][0]["errno"] == 110);
  CHECK(result["broken"].size() == 2);
}

TEST_CASE("where nothing may be used, or there is nothing, no pair is pinged", "[ping]") {
  const Hosts refused(kFlat);
  const Variables strict{
      {"NCCL_NET_DIAG_MODE", "enforce"},
      {"NCCL_NET_DIAG_POLICY", refused.file("strict.toml", "[hca]\ndeny = [\"mlx5_*\"]\n")}};
  const auto listener = refused.listen(strict);
  const Outcome outcome = refused.call({}, strict)->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.json()["pairs"].empty());
  CHECK_FALSE(outcome.json()["broken"].empty());
  CHECK(listener->wait().exit_code == 0);

  const Hosts bare("[[host]]\ncount = 2\nname = \"node{h}\"\n");
  const auto other = bare.listen();
  const Outcome nothing = bare.call({})->wait();
  INFO(nothing.out << nothing.err);
  CHECK(nothing.exit_code == 3);
  CHECK(nothing.json()["pairs"].empty());
  CHECK(nothing.json()["verdict"] ==
        "There was no pair to try: node0 and node1 have no HCA that NCCL takes.");
  CHECK(other->wait().exit_code == 0);
}

TEST_CASE("who doesn't know the token gets nothing, and disturbs nobody", "[ping]") {
  const Hosts hosts(kFlat);
  const auto listener = hosts.listen();
  const auto stranger = hosts.call({}, {{"NCCL_NET_DIAG_TOKEN", "another token, wrong"}});
  const Outcome refused = stranger->wait();
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == 3);
  CHECK(refused.json()["error"]["kind"] == "refused");
  CHECK(refused.json()["error"]["message"].get<std::string>().find("token") != std::string::npos);

  // Somebody else's program, one that says too much, and one that says nothing.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(hosts.port())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> sockets;
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, 'x'), std::string()}) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(sockets.back(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    send(sockets.back(), said.data(), said.size(), MSG_NOSIGNAL);
  }

  const auto caller = hosts.call({"--hca", "mlx5_0", "--sizes", "64K"});
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.json()["pairs"].size() == 1);
  for (const int fd : sockets) close(fd);
  const Outcome other = listener->wait();
  INFO(other.err);
  CHECK(other.exit_code == 0);
  CHECK(other.err.find("the token is another one") != std::string::npos);
  CHECK(other.err.find("is not nccl-net-diag ping") != std::string::npos);
  CHECK(other.err.find("said too much") != std::string::npos);
}

TEST_CASE("Ctrl-C on either side ends both, with what was found so far", "[ping]") {
  for (const bool callers : {true, false}) {
    INFO((callers ? "at the caller" : "at the listener"));
    const Hosts hosts(kFlat);
    const auto listener = hosts.listen();
    const auto caller = hosts.call({"--duration", "5", "--pair-deadline", "60"});
    // The caller, its own side, and that one's rank.
    REQUIRE(has_processes(*caller, 3));
    (callers ? caller : listener)->interrupt();
    const Outcome outcome = caller->wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 3);
    const json result = outcome.json();
    CHECK(result["ok"] == false);
    const auto ended = result["ended"].get<std::string>();
    CHECK(ended.find("interrupted") != std::string::npos);
    if (!callers) CHECK(ended.find("left") != std::string::npos);
    const Outcome other = listener->wait();
    INFO(other.err);
    CHECK(other.exit_code == 3);
    CHECK(other.err.find("interrupted") != std::string::npos);
    for (const auto* tool : {caller.get(), listener.get()}) {
      CHECK(tool->processes() == 0);
      CHECK(tool->left_nothing());
    }
  }
}

TEST_CASE("when the other side is killed the partial result is shown", "[ping]") {
  const Hosts hosts(kFlat);
  auto listener = hosts.listen();
  const auto caller = hosts.call({"--duration", "5", "--pair-deadline", "60"});
  REQUIRE(has_processes(*caller, 3));
  REQUIRE(has_processes(*listener, 2));
  listener.reset();
  const Outcome outcome = caller->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 3);
  const json result = outcome.json();
  CHECK(result["ended"].get<std::string>().find("gone") != std::string::npos);
  CHECK(caller->processes() == 0);
  CHECK(caller->left_nothing());
}

TEST_CASE("two hosts that differ in one rail: which, where, and what fits both", "[ping]") {
  const auto hosts = [](const std::string& second) {
    return "resolve_timeout_ms = 20\n[[host]]\nname = \"a\"\n[[host.hca]]\ncount = 3\n"
           "address = \"10.200.{i}.1/24\"\n[[host]]\nname = \"b\"\n[[host.hca]]\ncount = 2\n"
           "address = \"10.200.{i}.2/24\"\n[[host.hca]]\nname = \"mlx5_2\"\n" +
           second + "\n";
  };
  struct Case {
    std::string second;
    std::size_t pairs;
    std::string told;  // in what is broken, or in the remedy of the last pair
  };
  for (const Case& one :
       {Case{"address = \"10.200.2.2/24\"\nstate = \"down\"", 2,
             "b's mlx5_2:1 is DOWN, Disabled, and a's is used"},
        Case{"address = \"10.200.2.2/24\"\nspeed_mbps = 200000", 3,
             "b's mlx5_2:1 runs at 200 Gbit/s, a's at 400 Gbit/s"},
        Case{"address = \"10.201.2.2/24\"", 3, "b's ens2np1 has 10.201.2.2/24"}}) {
    const Hosts two(hosts(one.second));
    const auto listener = two.listen();
    // Quick, and what follows a list is HOST or the next option.
    const auto caller = two.call({"--sizes", "64K"}, {{"NCCL_IB_MQP_RETRY_CNT", "1"}});
    const Outcome outcome = caller->wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    const json result = outcome.json();
    CHECK(result["pairs"].size() == one.pairs);
    std::string told = result["pairs"].back().value("fix", "");
    for (const auto& fault : result["broken"]) told += "\n" + fault.get<std::string>();
    CHECK(told.find(one.told) != std::string::npos);
    if (one.told.find("mlx5_2:1") != std::string::npos)
      CHECK(told.find("NCCL_IB_HCA==mlx5_0,mlx5_1") != std::string::npos);
    listener->wait();
  }
}

TEST_CASE("a rail that gets little beside its like is slow, and a healthy one is not", "[ping]") {
  const std::string healthy =
      "[[host]]\ncount = 2\nname = \"node{h}\"\n[[host.hca]]\ncount = 2\nname = \"mlx5_{i}\"\n"
      "address = \"10.200.{i}.{h+1}/24\"\nspeed_mbps = 2500\n";
  const auto ping = [](const std::string& scenario) {
    const Hosts two(scenario);
    const auto listener = two.listen();
    const Outcome outcome = two.call({"--sizes", "1M"})->wait();
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 0);
    listener->wait();
    return outcome.json();
  };
  const json fine = ping(healthy);
  CHECK(fine["slow"].empty());
  CHECK(fine["notes"].empty());
  for (const auto& pair : fine["pairs"]) {
    CHECK(pair["allowed_gb_per_s"] == 0.3125);
    CHECK(pair["allowed_by"] == "both ports");
  }
  const json slow = ping(healthy +
                         "[[fault]]\nkind = \"hold-wr\"\nhost = \"node1\"\nhca = \"mlx5_1\"\n"
                         "delay_ms = 50\n");
  REQUIRE(slow["slow"].size() == 1);
  CHECK(slow["slow"][0].get<std::string>().starts_with("node0's mlx5_1:1 and node1's mlx5_1:1 "));
  CHECK(slow["verdict"] == "2 of 2 pairs can talk; 1 is slow.");
  CHECK(slow["pairs"][1]["attempts"] == 2);  // it had a second chance
  // A fabric that is slow as a whole is told of, and no pair is to blame.
  std::string fast = healthy;
  fast.replace(fast.find("2500"), 4, "400000");
  const json far = ping(fast);
  CHECK(far["slow"].empty());
  REQUIRE(far["notes"].size() == 1);
  CHECK(far["notes"][0].get<std::string>().starts_with("No pair comes near what it allows"));
}

TEST_CASE("a list may stand before the host", "[ping]") {
  const Outcome outcome =
      run_tool({"ping", "--hca", "mlx5_0,mlx5_1", "--sizes", "64K", "127.0.0.1:1", "--token",
                kToken, "--deadline", "1", "--json", "--nccl", NND_CLI_NCCL});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 3);  // nobody listens there
  CHECK(outcome.json()["error"]["kind"] == "address");
}

TEST_CASE("what is wrong with a call is named, with what is nearest", "[ping]") {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string kind, nearest;
  };
  const Variables no_token{{"NCCL_NET_DIAG_TOKEN", ""}};
  for (const Case& one : {
           Case{{"ping"}, 2, "call", ""},
           Case{{"ping", "127.0.0.1"}, 2, "token", ""},
           Case{{"ping", "127.0.0.1", "--token", "short"}, 2, "token", ""},
           Case{{"ping", "127.0.0.1", "--token-file", "/no/such/file"}, 2, "token", ""},
           Case{{"ping", "127.0.0.1:x", "--token", kToken}, 2, "address", ""},
           Case{{"ping", "127.0.0.1", "--token", kToken, "--sizes", "1X"}, 2, "size", ""},
           Case{{"ping", "127.0.0.1", "--token", kToken, "--sizes", "4"}, 2, "size", ""},
           Case{{"ping", "127.0.0.1", "--token", kToken, "--duration", "30"}, 2, "deadline", ""},
           Case{{"ping", "--listen", "--matrix"}, 2, "call", ""},
           Case{{"ping", "--hosts", "/no/such/file"}, 2, "launcher", ""},
           Case{{"ping", "127.0.0.1:1", "--token", kToken, "--deadline", "1"}, 3, "address", ""},
       }) {
    auto arguments = one.arguments;
    arguments.insert(arguments.end(), {"--json", "--nccl", NND_CLI_NCCL});
    const Outcome outcome = run_tool(arguments, no_token);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == one.exit_code);
    CHECK(outcome.json()["error"]["kind"] == one.kind);
    CHECK(outcome.json()["error"].value("nearest", "") == one.nearest);
  }
  const Hosts hosts(kFlat);
  const auto listener = hosts.listen();
  const Outcome outcome = hosts.call({"--hca", "mlx5_2"})->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.json()["error"]["nearest"] == "mlx5_0");
  CHECK(listener->wait().exit_code == 3);
}

TEST_CASE("tasks of a launcher ping each other", "[ping]") {
  auto scenario = kFlat;
  scenario.replace(scenario.find("count = 2"), 9, "count = 3");
  const Hosts hosts(scenario);
  const auto file =
      hosts.file("hosts", "127.0.0.1:" + hosts.port() + "  # node0\n127.0.0.1\nlocalhost\n");
  std::vector<std::unique_ptr<Tool>> tasks;
  for (const std::size_t i : {0U, 1U, 2U})
    tasks.push_back(
        hosts.start(i, {"ping", "--hosts", file, "--json", "--duration", "0.02", "--sizes", "64K"},
                    {{"OMPI_COMM_WORLD_RANK", std::to_string(i)}, {"OMPI_COMM_WORLD_SIZE", "3"}}));
  const Outcome outcome = tasks[0]->wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  const json result = outcome.json();
  REQUIRE(result["pairs"].size() == 6);  // two HCAs, three pairs of hosts
  std::set<std::string> seen;
  for (const auto& pair : result["pairs"]) {
    check_reachable(pair);
    seen.insert(pair["from"]["host"].get<std::string>() + pair["to"]["host"].get<std::string>());
  }
  CHECK(seen == std::set<std::string>{"node0node1", "node0node2", "node1node2"});
  for (const std::size_t i : {1U, 2U}) {
    const Outcome other = tasks[i]->wait();
    INFO(other.err);
    CHECK(other.exit_code == 0);
    CHECK(other.out.empty());
  }
}

TEST_CASE("task 0 of a launcher listens at its own line's address alone", "[ping]") {
  const Hosts hosts(kFlat);
  const auto file = hosts.file("hosts", "127.0.0.2:" + hosts.port() + "\n127.0.0.1\n");
  const auto task = hosts.start(0, {"ping", "--hosts", file},
                                {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  while (!listens_at("127.0.0.2", hosts.port())) poll(nullptr, 0, 20);
  CHECK_FALSE(listens_at("127.0.0.1", hosts.port()));
  task->interrupt();
  CHECK(task->wait().exit_code == 3);
}

TEST_CASE("a caller that knows the token and asks for nothing does not outlast the deadline",
          "[ping]") {
  const Hosts hosts(kFlat);
  const auto listener =
      hosts.start(1, {"ping", "--listen", hosts.address(), "--deadline", "10"}, {});
  const auto end = nnd::wire::Clock::now() + std::chrono::minutes(1);
  const auto idle = nnd::cli::call_listener(
      *nnd::cli::parse_tcp_address(hosts.address(), ""),
      {.service = "ping", .token = kToken, .error_kind = "address", .hint = ""},
      {{"role", "conductor"}, {"task", 0}}, end, [] { return false; });
  const Outcome outcome = listener->wait();
  INFO(outcome.err);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.err.find("not over by the deadline, after 0 pairs") != std::string::npos);
}

TEST_CASE("who calls where nobody listens hears so soon, and with what to do", "[ping]") {
  const Hosts hosts(kFlat);
  const Outcome outcome = hosts.call({})->wait();  // not at the deadline, which is an hour
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.err.find("calling " + hosts.address()) != std::string::npos);
  const json error = outcome.json()["error"];
  CHECK(error["kind"] == "address");
  CHECK(error["value"] == hosts.address());
  CHECK(error["message"].get<std::string>().find("ping --listen") != std::string::npos);
}

TEST_CASE("both sides on an emulated fabric, by one call", "[ping]") {
  Tool tool({"ping", "--scenario", "front-end-bond", "--duration", "0.02", "--sizes", "64K",
             "--nccl", NND_CLI_NCCL, "--json"});
  const Outcome outcome = tool.wait();
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 1);  // the bonds reach nobody
  const json result = outcome.json();
  REQUIRE(result["pairs"].size() == 4);
  for (const auto& pair : result["pairs"]) {
    INFO(pair.dump(2));
    const bool bond = pair["from"]["hca"] == "mlx5_bond_0";
    CHECK(pair["from"]["host"] == "node0");
    CHECK(pair["to"]["host"] == "node1");
    CHECK(pair["state"] == (bond ? "unreachable" : "reachable"));
    if (!bond) continue;
    CHECK(pair["cause"] == "SUB-RAIL");
    // Rails are not what is wrong with a bond.
    CHECK(pair["fix"].get<std::string>().find("NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2") !=
          std::string::npos);
  }
  CHECK(tool.processes() == 0);
  CHECK(tool.left_nothing());
}
