#include "cli/exchange/token.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <vector>

#include "cli/common/call_error.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::cli;
namespace fs = std::filesystem;

namespace {

Lookup lookup(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

}  // namespace

TEST_CASE("a token that the user gave", "[token]") {
  const nnd::test::TempDir dir;
  const auto file = dir.file("token", "a token in a file \nmore");
  CHECK(find_token("", "", lookup({})).empty());
  CHECK(find_token("", "", lookup({{"NCCL_NET_DIAG_TOKEN", "0123456789abcdef"}})) ==
        "0123456789abcdef");
  CHECK(find_token("", file, lookup({})) == "a token in a file");
  CHECK_THROWS_AS(find_token("0123456789abcdef", file, lookup({})), CallError);
  CHECK_THROWS_AS(find_token("short", "", lookup({})), CallError);
  CHECK_THROWS_AS(find_token("aaaaaaaabbbbbbbbcccc", "", lookup({})), CallError);
  REQUIRE(chmod(file.c_str(), 0644) == 0);
  CHECK(find_token("", file, lookup({})) == "a token in a file");
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  CHECK_THROWS_AS(find_token("", file, lookup({})), CallError);
  CHECK_THROWS_AS(find_token("", dir / "none", lookup({})), CallError);
}

TEST_CASE("mpirun's key of the job", "[token]") {
  const nnd::test::TempDir dir;
  const std::string key = "c0ffee0123456789-fedcba9876543210";
  CHECK(job_token(lookup({{"OMPI_MCA_orte_precondition_transports", key}})) == key);
  // What is no such key is no secret.
  const auto own = job_token(
      lookup({{"OMPI_MCA_orte_precondition_transports", "0-0"}, {"XDG_CONFIG_HOME", dir.path()}}));
  CHECK(own.size() == 32);
}

TEST_CASE("tasks that start at the same time make one token, which only the user can read",
          "[token]") {
  const nnd::test::TempDir dir;
  const auto variables = lookup({{"HOME", dir.path()}});
  std::vector<std::string> tokens(8);
  std::vector<std::thread> tasks;
  for (auto& token : tokens) tasks.emplace_back([&] { token = job_token(variables); });
  for (auto& task : tasks) task.join();
  CHECK(tokens[0].size() == 32);
  for (const auto& token : tokens) CHECK(token == tokens[0]);
  const auto folder = dir.path() / ".config" / "nccl-net-diag";
  struct stat about {};
  REQUIRE(stat((folder / "token").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}

TEST_CASE("a token that others could know is not taken", "[token]") {
  const nnd::test::TempDir dir;
  const auto folder = dir.path() / "nccl-net-diag";
  fs::create_directory(folder);
  const auto variables = lookup({{"XDG_CONFIG_HOME", dir.path()}});
  const auto refuses = [&] {
    try {
      job_token(variables);
      return false;
    } catch (const CallError& error) {
      return error.exit_code() == 2 && error.kind() == "token";
    }
  };
  std::ofstream(folder / "token") << "0123456789abcdef\n";
  fs::permissions(folder / "token", fs::perms(0640));
  CHECK(refuses());
  fs::permissions(folder / "token", fs::perms(0600));
  CHECK(job_token(variables) == "0123456789abcdef");
  std::ofstream(folder / "token") << "short\n";
  CHECK(refuses());
  fs::rename(folder / "token", folder / "other");
  fs::create_symlink(folder / "other", folder / "token");
  CHECK(refuses());
  CHECK_THROWS_AS(job_token(lookup({})), CallError);
}
