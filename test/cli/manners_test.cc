// What all subcommands have in common.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/tool.h"
#include "support/catch.h"

using namespace nnd::cli_test;
using nlohmann::json;

namespace {

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("a misspelt subcommand, and the words that people try", "[manners]") {
  const Outcome wrong = run_tool({"chek"});
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err.find("did you mean check?") != std::string::npos);
  CHECK(run_tool({}).exit_code == 2);
  for (const char* word : {"help", "--help", "-h", "-V", "--version"}) {
    INFO(word);
    const Outcome outcome = run_tool({word});
    CHECK(outcome.exit_code == 0);
    CHECK_FALSE(outcome.out.empty());
  }
  for (const char* word : {"help", "--help"})
    CHECK(run_tool({word}).out.find("Usage: nccl-net-diag [OPTIONS] SUBCOMMAND") !=
          std::string::npos);
}

TEST_CASE("an error has one form in all subcommands", "[manners]") {
  for (const char* command : {"check", "demo", "ping", "rehearse"}) {
    INFO(command);
    const Outcome outcome = run_tool({command, "--scenario", "front-end-bnd", "--json"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 2);
    const json result = outcome.json();
    CHECK(result["v"] == 1);
    CHECK(result["command"] == command);
    CHECK(result["ok"] == false);
    CHECK(result["exit_code"] == 2);
    CHECK(result["error"]["kind"] == "scenario");
    CHECK(result["error"]["nearest"] == "front-end-bond");
    const Outcome text = run_tool({command, "--scenario", "front-end-bnd"});
    CHECK(text.exit_code == 2);
    CHECK(text.out.empty());
    CHECK(text.err.find("did you mean front-end-bond?") != std::string::npos);
  }
}

TEST_CASE("the verdict comes first, and the page fits the screen", "[manners]") {
  const Outcome wide = run_tool({"check", "--scenario", "front-end-bond"});
  CHECK(wide.exit_code == 0);
  CHECK(wide.out.starts_with("works, with warnings: node0: NCCL will use 4 HCA ports"));
  CHECK(longest_line(wide.out) > 100);
  CHECK(wide.out.find("export NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2\n") != std::string::npos);
  for (const char* columns : {"60", "80", "100"}) {
    INFO(columns);
    const Outcome narrow =
        run_tool({"check", "--scenario", "front-end-bond"}, {{"COLUMNS", columns}});
    INFO(narrow.out);
    CHECK(longest_line(narrow.out) <= std::stoul(columns));
    for (const char* word : {"mlx5_bond_0", "::ffff:10.200.2.1", "DEV-BOND"})
      CHECK(narrow.out.find(word) != std::string::npos);
  }
}

TEST_CASE("colour by one rule", "[manners]") {
  const auto coloured = [](const char* when, const Variables& variables) {
    return run_tool({"check", "--scenario", "single-hca", "--color", when}, variables)
               .out.find('\x1b') != std::string::npos;
  };
  CHECK(coloured("always", {{"NO_COLOR", "1"}}));
  CHECK_FALSE(coloured("never", {{"TERM", "xterm"}}));
  CHECK_FALSE(coloured("auto", {{"TERM", "xterm"}}));  // a pipe
  CHECK(run_tool({"check", "--color", "no"}).err.find("{always,auto,never}") != std::string::npos);
}

TEST_CASE("a value that an option doesn't take is an error like all others", "[manners]") {
  const Outcome text = run_tool({"demo", "--ranks", "1"});
  CHECK(text.exit_code == 2);
  CHECK(text.err.find("nccl-net-diag demo: --ranks: Value 1 not in range 2 to 64;") == 0);
  const Outcome outcome = run_tool({"demo", "--ranks", "1", "--json"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.empty());
  CHECK(outcome.json()["command"] == "demo");
  CHECK(outcome.json()["error"]["kind"] == "option");
  CHECK(run_tool({"check", "--colour", "--json"}).json()["error"]["nearest"] == "--color");
}

TEST_CASE("an option that there is not is told with the nearest one", "[manners]") {
  const Outcome outcome = run_tool({"check", "--colour=never", "--nccl", "2.28.9"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err == "nccl-net-diag check: there is no option --colour; did you mean --color?\n");
}

TEST_CASE("what is wrong before -- is told, whatever options the program behind it has",
          "[manners]") {
  const Outcome outcome =
      run_tool({"rehearse", "--nodes", "0", "--", "torchrun", "--nproc-per-node", "8"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("nccl-net-diag rehearse: --nodes: Value 0 not in range") == 0);
}

TEST_CASE("a file without an end, or of nobody's, is told in one line and costs nothing",
          "[manners]") {
  const TemporaryDir dir;
  const std::string fifo = dir / "fifo", large = dir.file("large", "mode = \"warn\"");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);  // of which the disk has nothing
  const Variables task{{"RANK", "0"},
                       {"WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "0"},
                       {"LOCAL_WORLD_SIZE", "1"},
                       {"MASTER_ADDR", "127.0.0.1"}};
  for (const std::vector<std::string>& call :
       std::vector<std::vector<std::string>>{{"rehearse", "--topo"},
                                             {"check", "--policy"},
                                             {"check", "--scenario"},
                                             {"ping", "--hosts"},
                                             {"ping", "127.0.0.1", "--token-file"},
                                             {"report"},
                                             {"decode"}})
    for (const std::string& file : {std::string("/dev/zero"), fifo, large}) {
      auto whole = call;
      whole.insert(whole.end(), {file});
      INFO(call.front() << " " << call.back() << " " << file);
      const Outcome outcome = run_tool(whole, call.back() == "--hosts" ? task : Variables());
      INFO(outcome.err);
      CHECK((outcome.exit_code == 2 || outcome.exit_code == 3));
      CHECK((call.front() == "report" || outcome.err.find(file) != std::string::npos));
      CHECK(outcome.err.find("bad_alloc") == std::string::npos);
      CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
  rusage used{};
  REQUIRE(::getrusage(RUSAGE_CHILDREN, &used) == 0);
  CHECK(used.ru_maxrss < 256 << 10);  // KiB, of the largest
}

TEST_CASE("a line for each port, for those who look at many nodes", "[manners]") {
  const Outcome brief = run_tool({"check", "--scenario", "front-end-bond", "--brief"});
  CHECK(brief.exit_code == 0);
  CHECK(std::count(brief.out.begin(), brief.out.end(), '\n') == 5);
  CHECK(brief.out.find("node0 mlx5_bond_0:1 taken") != std::string::npos);
}

TEST_CASE("an output that takes nothing is an error, told in one line", "[manners]") {
  const TemporaryDir dir;
  const auto told = dir.path() / "told";
  for (const std::string words :
       {"check --scenario single-hca", "check --scenario single-hca --json", "explain",
        "explain --json", "explain QP-110 --brief", "demo --list", "manual", "manual check",
        "completion bash", "completion zsh", "help", "--help", "ping --help", "--version"})
    for (const auto& [output, why] : {std::pair(">/dev/full", "No space left on device"),
                                      std::pair(">&-", "Bad file descriptor")}) {
      INFO(words << output);
      const auto command =
          std::string(NND_TOOL) + " " + words + " " + output + " 2>" + told.string();
      CHECK(WEXITSTATUS(std::system(command.c_str())) == 3);
      std::ifstream in(told);
      CHECK(std::string(std::istreambuf_iterator<char>(in), {}) ==
            std::string("nccl-net-diag: standard output takes nothing: ") + why + "\n");
    }
}

TEST_CASE("a standard error that is closed or full changes nothing", "[manners]") {
  for (const std::string error : {"2>&-", "2>/dev/full", "0<&- 2>&-"}) {
    INFO(error);
    const auto run = [&error](const std::string& words) {
      const auto command = std::string(NND_TOOL) + " " + words + " >/dev/null " + error;
      return WEXITSTATUS(std::system(command.c_str()));
    };
    CHECK(run("check --scenario single-hca") == 0);
    CHECK(run("check --scenario no-such") == 2);
    CHECK(run("chek") == 2);
  }
}

TEST_CASE("a copy of the program takes nothing from where it was built", "[manners]") {
  const TemporaryDir dir;
  std::filesystem::create_directory(dir.path() / "bin");
  const auto copy = dir.path() / "bin" / "nccl-net-diag";
  std::filesystem::copy(NND_TOOL, copy);
  const auto told = dir.path() / "told";
  const std::string scenario = NND_SCENARIOS "/single-hca.toml";
  for (const std::string command : {"check", "demo", "ping", "rehearse"}) {
    INFO(command);
    const auto line = copy.string() + " " + command + " --scenario " + scenario +
                      (command == "check" ? "" : " --nccl /nowhere") + " >/dev/null 2>" +
                      told.string();
    const int code = WEXITSTATUS(std::system(line.c_str()));
    std::ifstream in(told);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    INFO(text);
    CHECK(code == 3);
    CHECK(text.find(dir.path().string() + "/lib") != std::string::npos);
  }
  CHECK(WEXITSTATUS(std::system((copy.string() + " check --scenario single-hca 2>&1").c_str())) ==
        3);
}

TEST_CASE("an option without its subcommand is named", "[manners]") {
  const Outcome outcome = run_tool({"--jsn"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err == "nccl-net-diag: --jsn needs a subcommand before it; --help shows them\n");
}

TEST_CASE("every cause is explained", "[manners]") {
  const json all = run_tool({"explain", "--json"}).json();
  CHECK(all["causes"].size() > 90);
  std::set<std::string> ids;
  for (const auto& cause : all["causes"]) {
    CHECK_FALSE(cause["remedy"].get<std::string>().empty());
    ids.insert(cause["id"]);
  }
  CHECK(ids.contains("SUB-RAIL"));
  const Outcome one = run_tool({"explain", "qp-110"});
  CHECK(one.exit_code == 0);
  CHECK(one.out.starts_with("QP-110: "));
  const json unknown = run_tool({"explain", "QP-11", "--json"}).json();
  CHECK(unknown["exit_code"] == 2);
  CHECK(unknown["error"]["nearest"] == "QP-110");
}
