#include "policy/locked.h"

#include <sched.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "support/catch.h"
#include "support/skip.h"
#include "support/temp_dir.h"

using namespace nnd;
using policy::in_force;
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
  const auto [settings, ignored, loaded] = in_force(loose(), standing);
  CHECK(ignored == Names{"NCCL_NET_DIAG_POLICY", "NCCL_NET_DIAG_MODE", "NCCL_NET_DIAG_DISABLE",
                         "NCCL_NET_DIAG_SYSFS", "NCCL_NET_DIAG_VERBS_LIB"});
  CHECK(settings.policy == standing);
  CHECK(settings.mode == config::Mode::kWarn);
  CHECK_FALSE(settings.disable);
  CHECK(settings.sysfs == "/sys");
  CHECK(settings.verbs_lib.empty());
  CHECK(loaded.errors.empty());
  CHECK(loaded.lock == policy::Lock::kHolds);

  config::Settings strict;
  strict.mode = config::Mode::kEnforce;
  strict.mode_given = true;
  const auto tighter = in_force(strict, standing);
  CHECK(tighter.ignored.empty());
  CHECK(tighter.settings.mode == config::Mode::kEnforce);
}

TEST_CASE("a policy that is not locked, or can't be, leaves the environment its say") {
  if (::geteuid() != 0) NND_SKIP("only root's file can be locked");
  const test::TempDir dir;
  CHECK(in_force(loose(), dir / "none.toml").ignored.empty());
  const auto open = in_force(loose(), dir.file("open.toml", "mode = \"enforce\"\n"));
  CHECK(open.ignored.empty());
  CHECK(open.settings.disable);
  const auto writable = dir.file("policy.toml", "locked = true\n");
  REQUIRE(::chmod(writable.c_str(), 0666) == 0);
  CHECK(in_force(loose(), writable).ignored.empty());
  // A lock that doesn't hold is said, wherever the file lies.
  const auto mistakes = in_force({}, writable).loaded.errors;
  REQUIRE(mistakes.size() == 1);
  CHECK(mistakes[0].key == "locked");
  REQUIRE(::chmod(writable.c_str(), 0644) == 0);
  CHECK(in_force({}, writable).loaded.errors.empty());
  config::Settings named;
  named.policy = writable;
  CHECK(in_force(named, dir / "none.toml").loaded.errors.size() == 1);
  CHECK(in_force(named, "").loaded.errors.size() == 1);
}

TEST_CASE("a policy file is read once, and where none counts not at all") {
  const test::TempDir dir;
  const auto standing = dir.file("policy.toml", "locked = true\n");
  const auto named = dir.file("named.toml", "mode = \"observe\"\n");
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  // The same event twice in turn is told as one: closing is told in between.
  for (const auto& file : {standing, named})
    REQUIRE(::inotify_add_watch(watch, file.c_str(), IN_OPEN | IN_CLOSE_NOWRITE) >= 0);
  const auto opened = [watch] {
    alignas(inotify_event) char events[4096];  // of a file alone they have no name: of one size
    const auto size = ::read(watch, events, sizeof(events));
    return size > 0 ? size / static_cast<ssize_t>(2 * sizeof(inotify_event)) : 0;
  };
  in_force({}, standing);
  CHECK(opened() == 1);
  config::Settings settings;
  settings.policy = named;
  in_force(settings, "");
  CHECK(opened() == 1);
  in_force({}, "");
  CHECK(opened() == 0);
  ::close(watch);
}

TEST_CASE("root is root where the user namespace says so") {
  using policy::Owner;
  const auto owner = [](unsigned uid, const char* map) {
    return policy::owner_of(uid, map, 65534);
  };
  constexpr const char *kHost = "         0          0 4294967295\n",
                       *kRootless = "0 1000 1\n1 100000 65536\n";
  CHECK(owner(0, kHost) == Owner::kRoot);
  CHECK(owner(1000, kHost) == Owner::kOther);
  CHECK(owner(65534, kHost) == Owner::kOther);  // the host's nobody
  CHECK(owner(0, kRootless) == Owner::kOther);  // the job's own user
  CHECK(owner(65534, kRootless) == Owner::kUnmapped);
  CHECK(owner(1, kRootless) == Owner::kOther);
  CHECK(owner(1000, "1000 1000 1\n") == Owner::kOther);  // Enroot's
  CHECK(owner(65534, "1000 1000 1\n") == Owner::kUnmapped);
  CHECK(owner(0, "") == Owner::kOther);
}

TEST_CASE("in a rootless container root's file is in force, and the job's own is not") {
  if (::geteuid() != 0) NND_SKIP("only root can make the files of this test");
  const test::TempDir dir;
  const auto file = [&](const char* folder, uid_t uid) {
    REQUIRE(::mkdir((dir / folder).c_str(), 0755) == 0);
    const auto path = dir.file(std::string(folder) + "/policy.toml", "locked = true\n");
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    for (const auto& each : {std::string(path), std::string(dir / folder)})
      REQUIRE(::chown(each.c_str(), uid, uid) == 0);
    return path;
  };
  constexpr uid_t kUser = 1000;
  const auto roots = file("root", 0), users = file("user", kUser);
  REQUIRE(::chmod(std::string(dir / "").c_str(), 0755) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kNoNamespace = 77;
    if (::setgid(kUser) != 0 || ::setuid(kUser) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0 ||
        ::unshare(CLONE_NEWUSER) != 0)
      ::_exit(kNoNamespace);
    if (!(std::ofstream("/proc/self/uid_map") << "0 1000 1\n" << std::flush)) ::_exit(kNoNamespace);
    const auto of_root = in_force({}, roots).loaded, of_user = in_force({}, users).loaded;
    const bool right = of_root.lock == policy::Lock::kUnproved && of_root.errors.empty() &&
                       of_user.lock == policy::Lock::kBroken && of_user.errors.size() == 1;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) NND_SKIP("no user namespaces here");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a locked file with a mistake stays locked") {
  const test::TempDir dir;
  for (const char* text : {"locked = true\n[hca]\nbnod = \"deny\"\n", "locked = \"yes\"\n"}) {
    const auto loaded = policy::load_policy_file(dir.file("policy.toml", text));
    CHECK_FALSE(loaded.errors.empty());
    CHECK(loaded.policy.locked);
  }
}
