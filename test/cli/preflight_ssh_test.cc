// `preflight --hosts` with a stand-in for ssh, which runs what it is given on a host of an emulated
// fabric, in a session of its own as sshd does.
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "cli/fabrics.h"
#include "cli/places.h"
#include "cli/tool.h"
#include "support/catch.h"
#include "support/free_port.h"

using namespace nnd::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kThreeHosts = hosts_with_rails(3);

// $0's directory has a file for each host that is there; others can't be reached, or hang.
constexpr const char* kStandIn = R"(#!/bin/sh
place=${0%/*}
echo "$*" >>"$place/words"
env >>"$place/variables"
while [ "$1" != -- ]; do shift; done
host=$2
shift 2
case $host in hang*) exec sleep 600 ;; esac
if [ ! -f "$place/$host" ]; then
  echo 'Warning: a banner' >&2
  echo "ssh: connect to host $host port 22: No route to host" >&2
  exit 255
fi
. "$place/$host"
exec setsid --wait "$@"
)";

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Cluster {
 public:
  Cluster() {
    fs::create_directory(bin());
    std::ofstream(bin() / "ssh") << kStandIn;
    chmod((bin() / "ssh").c_str(), 0755);
    places_.write_environments(bin());
  }

  fs::path bin() const { return places_.dir().path() / "bin"; }
  std::string file(const std::string& name, const std::string& text) const {
    return places_.dir().file(name, text);
  }

  std::vector<std::string> call(const std::string& hosts,
                                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> out{"preflight",
                                 "--hosts",
                                 file("hosts", hosts),
                                 "--nccl",
                                 "2.28.9",
                                 "--json",
                                 "--root",
                                 "127.0.0.1:" + std::to_string(port_)};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  Variables variables(const Variables& more = {}) const {
    Variables out{{"PATH", bin().string() + ":/usr/bin:/bin"}};
    out.insert(more.begin(), more.end());
    return out;
  }

 private:
  Places places_{kThreeHosts};
  int port_ = nnd::test::free_port();
};

}  // namespace

TEST_CASE("the hosts of a file, by ssh", "[preflight-ssh]") {
  const Cluster cluster;
  const std::string odd = cluster.bin().string() + "/it's; touch $(echo pwned) `id`\n\"";
  Tool tool(cluster.call("# two words and a number\nnode0 slots=8 max_slots=8\n\nnode1:8\nnode2\n"
                         "node0 slots=8\n"),
            cluster.variables({{"NCCL_IB_TC", "106"},
                               {"NCCL_NET_DIAG_POLICY", cluster.file("policy.toml", "")},
                               {"NCCL_TUNER_CONFIG", odd},
                               {"NCCL_HOSTID", "me"},
                               {"NCCL_NET_DIAG_TOKEN", "a token of this process"}}));
  const auto got = tool.wait();
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 0);
  CHECK(tool.processes() == 0);
  CHECK(tool.left_nothing());
  const auto said = got.json();
  CHECK(said["hosts"] == json{"node0", "node1", "node2"});
  CHECK(said["findings"].empty());
  CHECK(said["job"] == json{{"ranks", 3}});
  // Nothing but the host is on ssh's command line, and no secret in its environment.
  const auto words = text_of(cluster.bin() / "words");
  CHECK(words.find("-o BatchMode=yes") != std::string::npos);
  CHECK(words.find("-- node1 /bin/sh\n") != std::string::npos);
  CHECK(std::count(words.begin(), words.end(), '\n') == 3);
  CHECK(text_of(cluster.bin() / "variables").find("TOKEN") == std::string::npos);
  CHECK_FALSE(fs::exists("pwned"));
}

TEST_CASE("hosts that ssh does not reach are told by name", "[preflight-ssh]") {
  const Cluster cluster;
  Tool tool(cluster.call("node0\nnode1\ndown7\nhang3\n", {"--arrival", "8"}), cluster.variables());
  const auto got = tool.wait();
  INFO(got.out << got.err);
  REQUIRE(got.exit_code == 1);
  CHECK(tool.processes() == 0);
  const auto said = got.json();
  CHECK(said["hosts"] == json{"down7", "hang3", "node0", "node1"});
  CHECK(said["leave_out"] == json{"down7", "hang3"});
  CHECK(said["pairs"] == json{{"tried", 2}, {"talked", 2}});
  CHECK(said["job"] == json{{"ranks", 2}});  // the others are examined
  REQUIRE(said["findings"].size() == 2);
  CHECK(said["findings"][0]["msg"] ==
        "ssh does not reach down7; no job can start there: ssh: connect to host down7 port 22: No "
        "route to host.");
  CHECK(said["findings"][1]["msg"] ==
        "hang3 did not answer by ssh within 8 s; no job can start there.");
}

TEST_CASE("nobody waits for hosts of which ssh has said its last word", "[preflight-ssh]") {
  const Cluster cluster;
  const auto got =
      run_tool(cluster.call("down1\ndown2\n", {"--arrival", "500"}), cluster.variables());
  INFO(got.out << got.err);
  CHECK(got.exit_code == 1);
  CHECK(got.json()["leave_out"] == json{"down1", "down2"});
}

TEST_CASE("where the program does not run there, its last word is told", "[preflight-ssh]") {
  const Cluster cluster;
  std::ofstream(cluster.bin() / "bare") << "exec sh -c 'echo no such program >&2; exit 127'\n";
  const auto got = run_tool(cluster.call("bare\nnode1\n"), cluster.variables());
  INFO(got.out << got.err);
  CHECK(got.exit_code == 1);
  const auto said = got.json();
  CHECK(said["leave_out"].empty());
  REQUIRE(said["findings"].size() == 1);
  CHECK(said["findings"][0]["weight"] == "mend");
  CHECK(said["findings"][0]["hosts"] == json{"bare"});
  CHECK(said["findings"][0]["msg"] ==
        "On bare nccl-net-diag preflight ended with exit code 127: no such program.");
}

TEST_CASE("a host that can't call back says it itself", "[preflight-ssh]") {
  const Cluster cluster;
  std::ofstream(cluster.bin() / "far")
      << "exec sh -c 'sed \"s/^export MASTER_PORT=.*/export MASTER_PORT=1/\" | /bin/sh'\n";
  const auto got = run_tool(cluster.call("far\nnode1\n", {"--arrival", "4"}), cluster.variables());
  INFO(got.out << got.err);
  CHECK(got.exit_code == 1);
  const auto said = got.json();
  CHECK(said["leave_out"].empty());
  REQUIRE(said["findings"].size() == 1);
  CHECK(said["findings"][0]["msg"] ==
        "On far nccl-net-diag preflight ended with exit code 3: nccl-net-diag preflight: nobody "
        "was reached at 127.0.0.1:1: Connection refused.");
}

TEST_CASE("Ctrl-C ends what was started by ssh", "[preflight-ssh]") {
  const Cluster cluster;
  Tool tool(cluster.call("node0\nhang1\n", {"--arrival", "500"}), cluster.variables());
  while (tool.processes() < 3) poll(nullptr, 0, 20);
  poll(nullptr, 0, 500);
  tool.interrupt();
  const auto got = tool.wait();
  INFO(got.out << got.err);
  CHECK(got.exit_code == 3);
  CHECK(got.json()["error"]["kind"] == "interrupted");
  for (int i = 0; tool.processes() != 0 && i < 250; ++i) poll(nullptr, 0, 20);
  CHECK(tool.processes() == 0);
}

TEST_CASE("what is no host's name never reaches ssh", "[preflight-ssh]") {
  const Cluster cluster;
  for (const char* bad : {"-oProxyCommand=touch", "a;touch", "$(touch)", "`touch`", "a|b", "a&b",
                          "../node0", "a'b", "a\"b", "user@node0", "[::1", "node0:x", "[a;b]:1"}) {
    const auto got =
        run_tool(cluster.call(std::string("node0\n") + bad + " pwned\n"), cluster.variables());
    INFO(bad << got.out);
    CHECK(got.exit_code == 2);
    CHECK(got.json()["error"]["kind"] == "hosts");
    CHECK(got.json()["error"]["message"].get<std::string>().find("line 2: ") != std::string::npos);
  }
  CHECK_FALSE(fs::exists(cluster.bin() / "words"));
  CHECK(run_tool(cluster.call("# nobody\n"), cluster.variables()).exit_code == 2);
  CHECK(run_tool(cluster.call("node0\n", {"--scenario", "two-nodes-8-hca-bond"})).exit_code == 2);
  CHECK(run_tool(cluster.call("node0\n", {"--token-file", "x"})).exit_code == 2);
  CHECK(run_tool(cluster.call("node0\n"),
                 cluster.variables({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}))
            .exit_code == 2);
}
