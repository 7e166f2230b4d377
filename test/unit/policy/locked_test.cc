#include "policy/locked.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/catch.h"
#include "support/skip.h"
#include "support/temp_dir.h"

using namespace nnd;
using policy::load_policy;
using policy::tighten;
using Names = std::vector<std::string>;

namespace {

config::Settings loose() {
  config::Settings out;
  out.policy = "/nonexistent.toml";
  out.mode = config::Mode::kObserve;
  out.mode_given = true;
  out.disable = true;
  out.sysfs = "/tmp/sys";
  out.verbs_lib = "/tmp/libibverbs.so";
  return out;
}

}  // namespace

TEST_CASE("a locked policy holds against the environment, which can tighten it") {
  if (::geteuid() != 0) NND_SKIP("only root's file can be locked");
  const test::TempDir dir;
  const auto standing = dir.file("policy.toml", "mode = \"warn\"\nlocked = true\n");
  REQUIRE(::chmod(standing.c_str(), 0644) == 0);
  auto settings = loose();
  CHECK(tighten(settings, standing) == Names{"NCCL_NET_DIAG_POLICY", "NCCL_NET_DIAG_MODE",
                                             "NCCL_NET_DIAG_DISABLE", "NCCL_NET_DIAG_SYSFS",
                                             "NCCL_NET_DIAG_VERBS_LIB"});
  CHECK(settings.policy == standing);
  CHECK(settings.mode == config::Mode::kWarn);
  CHECK_FALSE(settings.disable);
  CHECK(settings.sysfs == "/sys");
  CHECK(settings.verbs_lib.empty());
  CHECK(load_policy(settings, standing).errors.empty());

  config::Settings strict;
  strict.mode = config::Mode::kEnforce;
  strict.mode_given = true;
  CHECK(tighten(strict, standing).empty());
  CHECK(strict.mode == config::Mode::kEnforce);
}

TEST_CASE("a policy that is not locked, or can't be, leaves the environment its say") {
  if (::geteuid() != 0) NND_SKIP("only root's file can be locked");
  const test::TempDir dir;
  auto settings = loose();
  CHECK(tighten(settings, dir / "none.toml").empty());
  CHECK(tighten(settings, dir.file("open.toml", "mode = \"enforce\"\n")).empty());
  CHECK(settings.disable);
  const auto writable = dir.file("policy.toml", "locked = true\n");
  REQUIRE(::chmod(writable.c_str(), 0666) == 0);
  CHECK(tighten(settings, writable).empty());
  // A lock that doesn't hold is said, wherever the file lies.
  const auto mistakes = load_policy({}, writable).errors;
  REQUIRE(mistakes.size() == 1);
  CHECK(mistakes[0].key == "locked");
  REQUIRE(::chmod(writable.c_str(), 0644) == 0);
  CHECK(load_policy({}, writable).errors.empty());
  settings.policy = writable;
  CHECK(load_policy(settings, dir / "none.toml").errors.size() == 1);
}

TEST_CASE("a locked file with a mistake stays locked") {
  const test::TempDir dir;
  for (const char* text : {"locked = true\n[hca]\nbnod = \"deny\"\n", "locked = \"yes\"\n"}) {
    const auto loaded = policy::load_policy_file(dir.file("policy.toml", text));
    CHECK_FALSE(loaded.errors.empty());
    CHECK(loaded.policy.locked);
  }
}
