// Man pages and completions, read by the programs that they are for.
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/tool.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::cli_test;

namespace {

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

std::string printed(const std::vector<std::string>& words) {
  const Outcome outcome = run_tool(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome.out;
}

// What a shell offers, as words.
std::set<std::string> offered(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int status = pclose(pipe);
  INFO(text);
  CHECK(status == 0);
  std::set<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) words.insert(line.substr(0, line.find('\t')));
  return words;
}

std::string file_with(const TemporaryDir& dir, const std::string& text) {
  const auto file = dir.path() / "completion";
  std::ofstream(file) << text;
  return file.string();
}

// The same line in each shell.
struct Line {
  std::string typed;  // after "nccl-net-diag ", up to the cursor
  std::string must, must_not;
};
const Line kLines[] = {
    {"che", "check", "demo"},
    {"check --mo", "--mode", "--matrix"},
    {"check --mode ", "enforce", "off"},
    {"demo --mode o", "off", "enforce"},
    {"demo --scenario front", "front-end-bond", "single-hca"},
    {"explain QP-11", "QP-110", "WC-12"},
    {"report comp", "completion", "check"},  // the file beside it
    {"decode comp", "completion", "check"},
    {"report --html comp", "completion", "check"},
};

}  // namespace

TEST_CASE("bash completes subcommands, options and values", "[manual]") {
  const TemporaryDir dir;
  const auto file = file_with(dir, printed({"completion", "bash"}));
  for (const auto& line : kLines) {
    INFO(line.typed);
    const auto words = offered("cd " + dir.path().string() + " && bash --norc -c 'source " + file +
                               "; COMP_WORDS=(nccl-net-diag " + line.typed +
                               (line.typed.ends_with(' ') ? "\"\"" : "") +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _nccl_net_diag; "
                               "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    CHECK(words.contains(line.must));
    CHECK_FALSE(words.contains(line.must_not));
  }
}

TEST_CASE("fish completes subcommands, options and values", "[fish]") {
  if (!installed("fish")) NND_SKIP("fish is not installed");
  const TemporaryDir dir;
  const auto file = file_with(dir, printed({"completion", "fish"}));
  for (const auto& line : kLines) {
    INFO(line.typed);
    const auto words =
        offered("cd " + dir.path().string() + " && HOME=. fish --no-config -c 'source " + file +
                "; complete -C \"nccl-net-diag " + line.typed + "\"'");
    CHECK(words.contains(line.must));
    CHECK_FALSE(words.contains(line.must_not));
  }
}

// zsh's completion needs a terminal; here the functions that it is made of print what they got.
TEST_CASE("zsh is told of subcommands, options and values", "[zsh]") {
  if (!installed("zsh")) NND_SKIP("zsh is not installed");
  const TemporaryDir dir;
  const auto file = file_with(dir, printed({"completion", "zsh"}));
  const auto told = [&file](const std::string& command) {
    return offered(
        "zsh -f -c 'compdef() { }; _arguments() { print -l -- \"$@\"; state=argument; }; "
        "source " +
        file + "; words=(" + command + "); _nccl_net_diag'");
  };
  CHECK(told("check").contains(
      "(--mode)--mode[observe, warn or enforce; by default a job's]:TEXT:(observe warn enforce)"));
  CHECK(told("report").contains("*:PATH:_files"));
}

TEST_CASE("man pages have no mistake, and every option", "[man]") {
  if (!installed("groff")) NND_SKIP("groff is not installed");
  const TemporaryDir dir;
  for (const char* command : {"", "check", "demo", "explain", "ping", "rehearse"}) {
    INFO(command);
    std::vector<std::string> words{"manual"};
    if (*command != 0) words.emplace_back(command);
    const auto page = printed(words);
    const auto file = file_with(dir, page);
    CHECK(offered("groff -man -ww -z " + file).empty());  // what it complains of
    CHECK(page.find("\\fB\\-h\\fR, \\fB\\-\\-help\\fR") != std::string::npos);
  }
  CHECK(printed({"manual", "check"}).find("\\fB\\-\\-expect\\-hcas\\fR") != std::string::npos);
}
