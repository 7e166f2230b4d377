#include "policy/load.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "config/toml_text.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::policy;

namespace {

std::vector<std::string> errors_of(std::string_view text) {
  std::vector<std::string> out;
  for (const LoadError& error : load_policy_text(text, "p.toml").errors)
    out.push_back(error.text());
  return out;
}

}  // namespace

TEST_CASE("an empty file is the built-in rules") {
  const Loaded loaded = load_policy_text("", "p.toml");
  CHECK(loaded.errors.empty());
  CHECK(loaded.policy.source == "p.toml");
  CHECK_FALSE(loaded.policy.mode_given);
  CHECK(loaded.policy.hca.bond == BondRule::kUnlikePeers);
  CHECK_FALSE(loaded.policy.limits_given);
}

TEST_CASE("a whole file") {
  const Loaded loaded = load_policy_text(R"(
mode = "enforce"
[hca]
allow = ["mlx5_*"]
deny = ["mlx5_bond_*"]
bond = "deny"
link_layer = "roce"
min_speed_mbps = 100_000
min_count = 8
default_route = "deny"
vf_with_pf = "allow"
min_mtu = 4096
[roce]
link_local = "deny"
subnets = ["10.1.0.0/16", "fd00::/8"]
[pair]
subnet = "same"
rail = "deny"
[gdr]
require = "dmabuf"
[limits]
memlock = "unlimited"
nofile = 65536
[fallback]
socket = "deny"
when = "init"
[connect]
deadline_sec = 1.5
[[override]]
host = "login-*"
hca.min_count = 0
[[override]]
device = "mlx5_bond_*"
hca.bond = "allow"
roce.link_local = "allow"
)",
                                         "p.toml");
  for (const LoadError& error : loaded.errors) UNSCOPED_INFO(error.text());
  REQUIRE(loaded.errors.empty());
  const Policy& policy = loaded.policy;
  CHECK(policy.mode == Mode::kEnforce);
  CHECK(policy.mode_given);
  CHECK(policy.hca.allow == std::vector<std::string>{"mlx5_*"});
  CHECK(policy.hca.deny == std::vector<std::string>{"mlx5_bond_*"});
  CHECK(policy.hca.bond == BondRule::kDeny);
  CHECK(policy.hca.link_layer == LinkLayerRule::kRoce);
  CHECK(policy.hca.min_speed_mbps == 100000);
  CHECK(policy.hca.min_count == 8);
  CHECK(policy.hca.default_route == Action::kDeny);
  CHECK(policy.hca.vf_with_pf == Action::kAllow);
  CHECK(policy.hca.min_mtu == 4096);
  CHECK(policy.roce.link_local == Action::kDeny);
  REQUIRE(policy.roce.subnets.size() == 2);
  CHECK(policy.roce.subnets[1].text() == "fd00::/8");
  CHECK(policy.pair.subnet == PairSubnet::kSame);
  CHECK(policy.pair.rail == Action::kDeny);
  CHECK(policy.gdr == GdrRule::kDmabuf);
  CHECK(policy.limits.memlock == std::numeric_limits<long>::max());
  CHECK(policy.limits.nofile == 65536);
  CHECK(policy.limits_given);
  CHECK(policy.fallback.socket == Action::kDeny);
  CHECK(policy.fallback.when == FallbackWhen::kInit);
  CHECK(policy.connect_deadline_sec == 1.5);
  CHECK(policy.for_host("login-3").hca.min_count == 0);
  CHECK(policy.for_host("gpu-3").hca.min_count == 8);
  CHECK(policy.for_host("gpu-3").hca.bond == BondRule::kDeny);
  CHECK(policy.for_device("gpu-3", "mlx5_bond_1").hca.bond == BondRule::kAllow);
  CHECK(policy.for_device("gpu-3", "mlx5_bond_1").roce.link_local == Action::kAllow);
  CHECK(policy.for_device("gpu-3", "mlx5_1").hca.bond == BondRule::kDeny);
}

TEST_CASE("where processes may ask each other: anywhere, in these networks, nowhere") {
  const auto allows = [](const std::string& text, const char* address) {
    const Loaded loaded = load_policy_text(text, "p.toml");
    REQUIRE(loaded.errors.empty());
    return loaded.policy.peers.allow(*nnd::facts::parse_address(address));
  };
  CHECK(allows("", "192.0.2.1"));
  CHECK(allows("[peers]\nsubnets = [\"10.1.0.0/16\"]", "10.1.7.7"));
  CHECK_FALSE(allows("[peers]\nsubnets = [\"10.1.0.0/16\"]", "10.2.0.1"));
  CHECK_FALSE(allows("[peers]\nsubnets = []", "10.1.7.7"));
}

TEST_CASE("errors name file, line, key and the nearest right word") {
  struct Row {
    const char* text;
    const char* error;
  };
  const auto row = GENERATE(
      Row{"[hca]\nbnod = \"deny\"", "p.toml:2: hca.bnod: unknown key; did you mean hca.bond?"},
      Row{"\n\nmoed = \"warn\"", "p.toml:3: moed: unknown key; did you mean mode?"},
      Row{"[hac]\nbond = \"deny\"", "p.toml:1: hac: unknown key; did you mean hca?"},
      Row{"[hca]\nbond = \"denny\"",
          "p.toml:2: hca.bond: \"denny\" is not one of \"allow\", \"unlike-peers\", \"deny\"; did "
          "you "
          "mean deny?"},
      Row{"mode = \"enforced\"",
          "p.toml:1: mode: \"enforced\" is not one of \"observe\", \"warn\", \"enforce\"; did you "
          "mean "
          "enforce?"},
      Row{"mode = 1", "p.toml:1: mode: must be one of \"observe\", \"warn\", \"enforce\""},
      Row{"hca = 3", "p.toml:1: hca: is a section; did you mean hca?"},
      Row{"[hca]\nmin_count = \"8\"", "p.toml:2: hca.min_count: must be a whole number"},
      Row{"[hca]\nmin_count = -1", "p.toml:2: hca.min_count: -1 is not between 0 and 1024"},
      Row{"[hca]\nallow = \"mlx5_0\"", "p.toml:2: hca.allow: must be an array of names or globs"},
      Row{"[hca]\nallow = [1]", "p.toml:2: hca.allow: must be names or globs"},
      Row{"[hca]\ndeny = [\"mlx5_0, mlx5_1\"]",
          "p.toml:2: hca.deny: \"mlx5_0, mlx5_1\" matches no HCA: a name or a glob, such as "
          "\"mlx5_bond_*\""},
      Row{"[hca]\nallow = [\"a\"]\ndeny = [\"a\"]",
          "p.toml:1: hca.allow: \"a\" is denied as well and can never match"},
      Row{"[hca]\ndeny = [\"*\"]", "p.toml:1: hca.deny: \"*\" leaves no HCA"},
      Row{"[roce]\nsubnets = [\"10.1.0.0\"]",
          "p.toml:2: roce.subnets: \"10.1.0.0\" is no subnet such as \"10.1.0.0/16\""},
      Row{"[roce]\nsubnets = [\"10.1.2.3/16\"]",
          "p.toml:2: roce.subnets: \"10.1.2.3/16\" has bits set beyond its prefix; did you mean "
          "10.1.0.0/16?"},
      Row{"[limits]\nmemlock = \"unlimitd\"",
          "p.toml:2: limits.memlock: must be a number of bytes or \"unlimited\"; did you mean "
          "unlimited?"},
      Row{"[connect]\ndeadline_sec = -1",
          "p.toml:2: connect.deadline_sec: must be between 0 and 86400 seconds"},
      Row{"[connect]\ndeadline_sec = nan",
          "p.toml:2: connect.deadline_sec: must be between 0 and 86400 seconds"},
      Row{"[override]\nhost = \"a\"",
          "p.toml:1: override: must be an array of tables: [[override]]"},
      Row{"[[override]]\nhost = \"a\"", "p.toml:1: override: changes nothing"},
      Row{"[[override]]\nhca.bond = \"deny\"", "p.toml:1: override: needs `host` or `device`"},
      Row{"[[override]]\nhost = 3\nhca.bond = \"deny\"",
          "p.toml:2: override.host: must be a name or a glob"},
      Row{"[[override]]\ndevice = \"a\"\nhca.min_count = 3",
          "p.toml:3: hca.min_count: is of the whole node: an override with `device` can't change "
          "it"},
      Row{"[[override]]\nhost = \"a\"\nmode = \"warn\"", "p.toml:3: mode: can't be overridden"});
  INFO(row.text);
  CHECK(errors_of(row.text) == std::vector<std::string>{row.error});
}

TEST_CASE("a file with an error changes no rule") {
  const Loaded loaded = load_policy_text("mode = \"enforce\"\n[hca]\nbond = 3\nslow = 4", "p.toml");
  CHECK(loaded.errors.size() == 2);
}

TEST_CASE("what is no TOML names its line") {
  const auto errors = load_policy_text("[hca]\nbond = ", "p.toml").errors;
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].line == 2);
  CHECK_FALSE(errors[0].problem.empty());
}

TEST_CASE("a file that is not there") {
  REQUIRE(load_policy_file("/nonexistent/p.toml").errors.size() == 1);
  CHECK(load_policy_file("/nonexistent/p.toml").errors[0].text() ==
        "/nonexistent/p.toml: can't be read: No such file or directory");
  for (const std::string other : {"/", "/dev/null"}) {
    REQUIRE(load_policy_file(other).errors.size() == 1);
    CHECK(load_policy_file(other).errors[0].text() ==
          other + ": can't be read: it is no regular file");
  }
}

TEST_CASE("a file of any size is read as far as a policy goes") {
  const nnd::test::TempDir dir;
  const auto path = dir.file("policy.toml", "mode = \"enforce\"\n#");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // of which the disk has nothing
  const auto errors = load_policy_file(path).errors;
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].text() == std::string(path) + ": is larger than 1 MiB, which no policy is");
}

TEST_CASE("every key is documented and refuses a wrong type") {
  const auto docs = key_docs();
  CHECK(docs.size() > 30);
  for (const KeyDoc& doc : docs) {
    INFO(doc.key);
    CHECK_FALSE(doc.meaning.empty());
    const bool flag = doc.values == "true|false";
    CHECK(errors_of(std::string(doc.key) + (flag ? " = 1" : " = false")).size() == 1);
  }
}

TEST_CASE("names match as globs") {
  CHECK(glob_match("mlx5_bond_*", "mlx5_bond_0"));
  CHECK_FALSE(glob_match("mlx5_bond_*", "mlx5_0"));
  CHECK(glob_match("mlx5_?", "mlx5_1"));
  CHECK_FALSE(glob_match("mlx5_?", "mlx5_10"));
  CHECK_FALSE(glob_match("mlx5_1", "mlx5_10"));
}

TEST_CASE("a mistake leaves the built-in rules, in the mode that the file asks for") {
  const Loaded loaded = load_policy_text("mode = \"enforce\"\n[hca]\nbond = \"deny\"\nx = 1", "p");
  REQUIRE(loaded.errors.size() == 1);
  CHECK(loaded.policy.mode == Mode::kEnforce);
  CHECK(loaded.policy.mode_given);
  CHECK(loaded.policy.hca.bond == BondRule::kUnlikePeers);
  CHECK(load_policy_text("mode = \"enfroce\"", "p").policy.mode == Mode::kEnforce);
  CHECK(load_policy_text("[hca]\nx = 1", "p").policy.mode == Mode::kWarn);
}

TEST_CASE("every key is in the documentation, and the examples are right") {
  std::ifstream in(NND_SOURCE_DIR "/docs/policy.md");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (const KeyDoc& doc : key_docs()) {
    INFO(doc.key);
    CHECK(text.find("| `" + std::string(doc.key) + "` | ") != std::string::npos);
    CHECK(text.find(" | " + std::string(doc.meaning) + " |") != std::string::npos);
  }
  for (const char* name : {"rails", "bonds", "infiniband"}) {
    INFO(name);
    const Loaded loaded =
        load_policy_file(NND_SOURCE_DIR "/examples/policy/" + std::string(name) + ".toml");
    for (const LoadError& error : loaded.errors) FAIL_CHECK(error.text());
  }
}

TEST_CASE("what the TOML library only asserts is an error as well") {
  for (const char* text : {"[!]\n",
                           "[\x1f"
                           "hca]\n",
                           "[[\xc3\xa9]]\n"}) {
    const auto loaded = load_policy_text(text, "policy.toml");
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].line == 1);
  }
}

TEST_CASE("a key of 200,000 parts is an error, and no stack overflows") {
  const auto deep = [](std::size_t parts) {
    std::string key = "a";
    for (std::size_t i = 1; i < parts; ++i) key += ".a";
    return key;
  };
  for (const std::string& text : {"\n" + deep(200000) + " = 1\n", "\n[" + deep(200000) + "]\n",
                                  "\nx = {" + deep(40) + " = 1}\n"}) {
    const auto loaded = load_policy_text(text, "p");
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].line == 2);
    CHECK(loaded.errors[0].problem == "a key of more than 32 parts");
  }
  CHECK(nnd::config::line_of_deep_key("a = \"" + deep(100) + "\" # " + deep(100)) == 0);
  CHECK(nnd::config::line_of_deep_key(deep(32) + " = 1") == 0);
}

TEST_CASE("no key and no value forges a line") {
  for (const char* text : {"\"a\\nforged\" = 1\n", "[hca]\nbond = \"a\\nforged\"\n",
                           "[hca]\nallow = [\"x\\ny\"]\ndeny = [\"x\\ny\"]\n"}) {
    const auto loaded = load_policy_text(text, "p");
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].text().find('\n') == std::string::npos);
  }
}

TEST_CASE("characters beyond ASCII stand in comments only") {
  const auto errors = [](const char* text) { return load_policy_text(text, "p").errors.size(); };
  CHECK(errors("# n\u00e9\nmode = \"warn\" # \u00e9\n") == 0);
  CHECK(errors("[hca]\ndeny = [\"a\\\"#\", 'b#']\n") == 0);
  CHECK(errors("[hca]\ndeny = [\"\"\"mlx5_8\"\"\", '''mlx5_9'''] # \u00e9\n") == 0);
  CHECK(nnd::config::line_of_foreign_character("a = \"\"\"b \"\" \\\"\"\"\" # \u00e9") == 0);
  CHECK(nnd::config::line_of_foreign_character("a = \"b\n\u00e9") ==
        2);  // a string ends with its line
  for (const char* text :
       {"\nmode = \u00e9\n", "# x\n[hca]\u3000\n", "[hca]\ndeny = [\"\"\"a\u00e9\"\"\"]\n",
        "[hca]\ndeny = [\"\u00e9\"]\n", "\nmode = \"warn\"\u00a0\n"}) {
    const auto loaded = load_policy_text(text, "p");
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].line == 2);
    CHECK(loaded.errors[0].problem.starts_with("a character that is not ASCII"));
  }
}
