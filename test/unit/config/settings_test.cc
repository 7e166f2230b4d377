#include "config/settings.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/nearest.h"
#include "support/catch.h"
#include "support/skip.h"
#include "support/temp_dir.h"

using namespace nnd::config;

namespace {

Settings with(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  Settings settings = load_settings();
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  return settings;
}

}  // namespace

TEST_CASE("an empty environment gives the defaults of the contract") {
  const Settings s = with({});
  CHECK_FALSE(s.disable);
  CHECK(s.inner == "auto");
  CHECK(s.file == "/tmp/nccl-net-diag-%u/%h.%p.jsonl");
  CHECK(s.max_mb == 64);
  CHECK(s.mode == Mode::kWarn);
  CHECK_FALSE(s.mode_given);
  CHECK(s.stall_sec == 10);
  CHECK(s.connect_sec == 5);
  CHECK(s.sysfs == "/sys");
  CHECK(s.complaints.empty());
}

// Run by the next one, in a copy of this program that belongs to somebody else.
TEST_CASE("settings with another user's rights", "[.][secure]") {
  CHECK_FALSE(load_settings().disable);
  CHECK(load_settings().verbs_lib.empty());
}

TEST_CASE("a program with rights that its caller hasn't obeys no variable of the caller's") {
  const nnd::test::TempDir dir;
  const auto copy = dir.path() / "program";
  struct statvfs place {};
  if (::geteuid() != 0 || ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 ||
      ::statvfs(dir.path().c_str(), &place) != 0 || (place.f_flag & ST_NOSUID) != 0)
    NND_SKIP("no program can get another user's rights here");
  std::filesystem::copy("/proc/self/exe", copy);
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(::chown(copy.c_str(), 65534, 65534) == 0);
  const std::string command = "NCCL_NET_DIAG_DISABLE=1 NCCL_NET_DIAG_VERBS_LIB=/x " +
                              copy.string() + " '[secure]' >/dev/null 2>&1";
  REQUIRE(::chmod(copy.c_str(), 0755) == 0);
  CHECK(std::system(command.c_str()) != 0);  // as the caller: they count
  REQUIRE(::chmod(copy.c_str(), 04755) == 0);
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("every variable of the table is taken over") {
  const Settings s = with({{"NCCL_NET_DIAG_DISABLE", "1"},
                           {"NCCL_NET_DIAG_INNER", "Socket"},
                           {"NCCL_NET_DIAG_FILE", "/x/%h.%p.%u.%j.%t.100%%"},
                           {"NCCL_NET_DIAG_MAX_MB", "7"},
                           {"NCCL_NET_DIAG_EVENTS", "conn.*, ^conn.open"},
                           {"NCCL_NET_DIAG_BLACKBOX", "off"},
                           {"NCCL_NET_DIAG_POLICY", "/p.toml"},
                           {"NCCL_NET_DIAG_MODE", "observe"},
                           {"NCCL_NET_DIAG_STALL_SEC", "2.5"},
                           {"NCCL_NET_DIAG_CONNECT_SEC", "1e1"},
                           {"NCCL_NET_DIAG_VERBS_LIB", "/v.so"},
                           {"NCCL_NET_DIAG_SYSFS", "/s"},
                           {"NCCL_NET_DIAG_STDERR", "warn"},
                           {"NCCL_NET_DIAG_KEEP", "3,40"},
                           {"NCCL_NET_DIAG_PROFILER", "off"},
                           {"NCCL_NET_DIAG_PEERS", "10.1.0.0/16"},
                           {"NCCL_NET_DIAG_TOKEN", "a secret"}});
  CHECK(s.disable);
  CHECK(s.inner == "Socket");
  CHECK(s.file == "/x/%h.%p.%u.%j.%t.100%%");
  CHECK(s.max_mb == 7);
  CHECK(s.events == "conn.*, ^conn.open");
  CHECK(s.blackbox == "off");
  CHECK(s.policy == "/p.toml");
  CHECK(s.mode == Mode::kObserve);
  CHECK(s.mode_given);
  CHECK(s.stall_sec == 2.5);
  CHECK(s.connect_sec == 10);
  CHECK(s.verbs_lib == "/v.so");
  CHECK(s.sysfs == "/s");
  CHECK(s.on_stderr == Stderr::kWarn);
  CHECK(s.keep.files == 3);
  CHECK(s.keep.mb == 40);
  CHECK(s.keep.days == Keep::kAny);
  CHECK(s.profiler == "off");
  CHECK(s.peers);
  CHECK(s.peers_network == "10.1.0.0/16");
  CHECK(s.complaints.empty());
  CHECK(variable_docs().size() == 17);
}

TEST_CASE("what stays of ended processes") {
  CHECK(with({}).keep.files == Keep::kAny);
  CHECK(with({}).keep.days == 14);
  CHECK(with({{"NCCL_NET_DIAG_KEEP", "0"}}).keep.files == 0);
  CHECK(with({{"NCCL_NET_DIAG_KEEP", "0"}}).keep.mb == 4096);
  CHECK(with({{"NCCL_NET_DIAG_KEEP", "0"}}).keep.days == Keep::kAny);
  for (const char* wrong : {"-1", "3,", "3,4,5", "3;4", "many", ",5", "99999999999"}) {
    INFO(wrong);
    const Settings s = with({{"NCCL_NET_DIAG_KEEP", wrong}});
    CHECK(s.complaints.size() == 1);
    CHECK(s.keep.files == Keep::kAny);
    CHECK(s.keep.mb == 4096);
    CHECK(s.keep.days == 14);
  }
}

TEST_CASE("where the processes of a job may ask each other") {
  CHECK_FALSE(with({}).peers);
  CHECK(with({{"NCCL_NET_DIAG_PEERS", "on"}}).peers);
  CHECK(with({{"NCCL_NET_DIAG_PEERS", "on"}}).peers_network.empty());
  CHECK(with({{"NCCL_NET_DIAG_PEERS", "10.1.2.3"}}).peers_network == "10.1.2.3/32");
  CHECK(with({{"NCCL_NET_DIAG_PEERS", "fd00::1"}}).peers_network == "fd00::1/128");
  CHECK(with({{"NCCL_NET_DIAG_PEERS", "fd00::/8"}}).peers_network == "fd00::/8");
  for (const char* const wrong : {"On", "10.1.0", "10.1.0.0/33", "10.1.0.0/", "fd00::/129",
                                  "10.1.0.0/-1", "10.1.0.0/8 ", "eth0"}) {
    INFO(wrong);
    const Settings s = with({{"NCCL_NET_DIAG_PEERS", wrong}});
    CHECK_FALSE(s.peers);
    REQUIRE(s.complaints.size() == 1);
    CHECK(s.complaints[0].problem ==
          "is neither on, off nor a network such as 10.1.0.0/16; off is used");
  }
}

TEST_CASE("what goes to stderr") {
  CHECK(with({}).on_stderr == Stderr::kError);
  CHECK(with({{"NCCL_NET_DIAG_STDERR", "off"}}).on_stderr == Stderr::kOff);
  const Settings wrong = with({{"NCCL_NET_DIAG_STDERR", "eror"}});
  CHECK(wrong.on_stderr == Stderr::kError);
  REQUIRE(wrong.complaints.size() == 1);
  CHECK(wrong.complaints[0].nearest == "error");
}

TEST_CASE("an empty value is as good as none") {
  const Settings s = with({{"NCCL_NET_DIAG_MODE", ""}, {"NCCL_NET_DIAG_FILE", ""}});
  CHECK_FALSE(s.mode_given);
  CHECK(s.file == Settings{}.file);
  CHECK(s.complaints.empty());
}

TEST_CASE("a mode in capitals is that mode") {
  CHECK(with({{"NCCL_NET_DIAG_MODE", "WARN"}}).mode == Mode::kWarn);
  CHECK(with({{"NCCL_NET_DIAG_MODE", "Observe"}}).mode == Mode::kObserve);
  CHECK(with({{"NCCL_NET_DIAG_MODE", "ENFORCE"}}).complaints.empty());
}

TEST_CASE("a misspelt mode counts as enforce and is complained about") {
  const Settings s = with({{"NCCL_NET_DIAG_MODE", "observ"}});
  CHECK(s.mode == Mode::kEnforce);
  CHECK(s.mode_given);
  REQUIRE(s.complaints.size() == 1);
  CHECK(s.complaints[0].variable == "NCCL_NET_DIAG_MODE");
  CHECK(s.complaints[0].value == "observ");
  CHECK(s.complaints[0].nearest == "observe");
  CHECK(with({{"NCCL_NET_DIAG_MODE", "Wran"}}).complaints.at(0).nearest == "warn");
}

TEST_CASE("an unknown variable is named with the nearest known one") {
  const Settings s = with({{"NCCL_NET_DIAG_FLIE", "/x"}});
  REQUIRE(s.complaints.size() == 1);
  CHECK(s.complaints[0].variable == "NCCL_NET_DIAG_FLIE");
  CHECK(s.complaints[0].nearest == "NCCL_NET_DIAG_FILE");
  CHECK(with({{"NCCL_NET_DIAG_BLACK_BOX", "/x"}}).complaints.at(0).nearest ==
        "NCCL_NET_DIAG_BLACKBOX");
  CHECK(with({{"NCCL_NET_DIAG_XYZZY", "/x"}}).complaints.at(0).nearest.empty());
  CHECK(with({{"NCCL_NET_PLUGIN", "diag"}, {"NCCL_NET", "IB"}}).complaints.empty());
}

TEST_CASE("a bad value is complained about and leaves the default") {
  const std::pair<const char*, const char*> bad[] = {
      {"NCCL_NET_DIAG_DISABLE", "yes"},     {"NCCL_NET_DIAG_MAX_MB", "0"},
      {"NCCL_NET_DIAG_MAX_MB", "-1"},       {"NCCL_NET_DIAG_MAX_MB", "64MB"},
      {"NCCL_NET_DIAG_MAX_MB", "1048577"},  {"NCCL_NET_DIAG_STALL_SEC", "0"},
      {"NCCL_NET_DIAG_STALL_SEC", "nan"},   {"NCCL_NET_DIAG_STALL_SEC", "10s"},
      {"NCCL_NET_DIAG_CONNECT_SEC", "inf"},
  };
  for (const auto& [name, value] : bad) {
    const Settings s = with({{name, value}});
    INFO(name << "=" << value);
    REQUIRE(s.complaints.size() == 1);
    CHECK(s.complaints[0].variable == name);
    CHECK_FALSE(s.complaints[0].problem.empty());
    CHECK_FALSE(s.disable);
    CHECK(s.max_mb == 64);
    CHECK(s.stall_sec == 10);
    CHECK(s.connect_sec == 5);
  }
}

TEST_CASE("event globs and path patterns that mean nothing are complained about") {
  const Settings s = with({{"NCCL_NET_DIAG_EVENTS", "conn.*,^qp.transitoin"}});
  REQUIRE(s.complaints.size() == 1);
  CHECK(s.complaints[0].nearest == "qp.transition");
  CHECK(with({{"NCCL_NET_DIAG_FILE", "/x/%q"}}).complaints.size() == 1);
  CHECK(with({{"NCCL_NET_DIAG_FILE", "/x/%"}}).complaints.size() == 1);
}

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("FILE", "flie") == 1);
  CHECK(edit_distance("warn", "warn") == 0);
}
