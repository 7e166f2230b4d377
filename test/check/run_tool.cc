#include "run_tool.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace nnd::check_test {

namespace fs = std::filesystem;

namespace {

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char letter : word)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Outcome run(const std::vector<std::string>& words, const Environment& environment) {
  const Scratch scratch;
  std::string command = "env -i PATH=/usr/bin:/bin TMPDIR=" + quoted(scratch.path().string());
  for (const auto& [name, value] : environment) command += " " + quoted(name + "=" + value);
  for (const std::string& word : words) command += " " + quoted(word);
  const fs::path out = scratch.path() / "out";
  const fs::path err = scratch.path() / "err";
  command += " >" + quoted(out.string()) + " 2>" + quoted(err.string());
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.out = content(out);
  outcome.err = content(err);
  return outcome;
}

}  // namespace

Outcome run_tool(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> command = {NND_TOOL, "check"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(command, environment);
}

Outcome run_script(const std::string& script, const Environment& environment) {
  return run({"bash", script}, environment);
}

}  // namespace nnd::check_test
