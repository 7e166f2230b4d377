// What is found in a library, and what is turned down.
#include "inner/find.h"

#include <gnu/libc-version.h>

#include "fixture.h"

using namespace nnd::inner;
using Catch::Matchers::Contains;

namespace {

void require_found(const Fixture& nccl, Method method, int net_version, int nccl_version) {
  const Found ib = find_ib(nccl.caller(), net_version);
  INFO(ib.why);
  REQUIRE(ib);
  CHECK(ib.vtable == nccl.table());
  CHECK(ib.method == method);
  CHECK(ib.net_version == net_version);
  CHECK(ib.nccl_version == nccl_version);
  CHECK(ib.name == "IB");
  CHECK(ib.module == nccl.path());
}

void require_refused(const Found& found, Trouble trouble, const std::string& says) {
  CHECK_FALSE(found);
  CHECK(found.trouble == trouble);
  CHECK_THAT(found.why, Contains(says));
}

}  // namespace

TEST_CASE("the symbol table gives IB and Socket") {
  const Fixture nccl = Fixture::named("nccl");
  require_found(nccl, Method::kSymtab, 11, 22809);
  const Found socket = find_socket(nccl.caller(), 11);
  REQUIRE(socket);
  CHECK(socket.name == "Socket");
  CHECK(socket.vtable != nccl.table());
}

TEST_CASE("a stripped library is found by the shape of the table") {
  const Fixture nccl = Fixture::named("nccl_stripped");
  require_found(nccl, Method::kShape, 11, 22809);
  CHECK(find_socket(nccl.caller(), 11).method == Method::kShape);
}

#ifdef FIXTURE_RELR
TEST_CASE("packed relative relocations are read") {
  if (std::string(gnu_get_libc_version()) < "2.36") {
    WARN("this C library can't load them (2.36 is the first)");
    return;
  }
  require_found(Fixture::named("nccl_relr"), Method::kSymtab, 11, 22809);
  require_found(Fixture::named("nccl_relr_stripped"), Method::kShape, 11, 22809);
}
#endif

TEST_CASE("a repeated search gives the same") {
  const Fixture nccl = Fixture::named("nccl");
  CHECK(find_ib(nccl.caller(), 11).vtable == find_ib(nccl.caller(), 11).vtable);
}

TEST_CASE("NCCL inside another library that exports nothing of it") {
  require_found(Fixture::named("framework"), Method::kSymtab, 11, 0);
  require_found(Fixture::named("framework_stripped"), Method::kShape, 11, 0);
}

TEST_CASE("two tables that fit are turned down") {
  // By symbol there is one ncclNetIb, and it is taken.
  require_found(Fixture::named("nccl_twins"), Method::kSymtab, 11, 22809);
  const Fixture twins = Fixture::named("nccl_twins_stripped");
  require_refused(find_ib(twins.caller(), 11), Trouble::kSeveralFound, "2 tables");
}

TEST_CASE("a wrong slot count is turned down") {
  const Fixture whole = Fixture::named("nccl_short");
  require_refused(find_ib(whole.caller(), 11), Trouble::kUnfit, "20 words where 22 words");
  const Fixture stripped = Fixture::named("nccl_short_stripped");
  require_refused(find_ib(stripped.caller(), 11), Trouble::kNotFound, "neither the symbol");
}

TEST_CASE("a slot that leads out of the library is turned down") {
  const Fixture whole = Fixture::named("nccl_foreign");
  require_refused(find_ib(whole.caller(), 11), Trouble::kUnfit, "slot 1 of 21");
  const Fixture stripped = Fixture::named("nccl_foreign_stripped");
  require_refused(find_ib(stripped.caller(), 11), Trouble::kNotFound, "neither the symbol");
}

TEST_CASE("an NCCL with a newer net API is never wrapped") {
  for (const char* name : {"nccl_newer", "nccl_newer_stripped"}) {
    const Fixture nccl = Fixture::named(name);
    require_refused(find_ib(nccl.caller(), 12), Trouble::kNcclTooNew,
                    "has net API v13 in its own transports, this plugin knows none above v12");
  }
  const Fixture mute = Fixture::named("nccl_newer_mute");
  require_refused(find_ib(mute.caller(), 12), Trouble::kNcclUnknown, "NCCL 2.33.0");
}

TEST_CASE("a newer NCCL that still has a known net API is wrapped") {
  require_found(Fixture::named("nccl_newer_same_api"), Method::kSymtab, 12, 23300);
}

TEST_CASE("only the version of NCCL's own transports is wrapped") {
  const Fixture nccl = Fixture::named("nccl");
  require_refused(find_ib(nccl.caller(), 10), Trouble::kWrongVersion, "asked for v10");
  require_refused(find_ib(nccl.caller(), 12), Trouble::kWrongVersion, "asked for v12");
  require_refused(find_ib(nccl.caller(), 99), Trouble::kWrongVersion, "v99");
}

TEST_CASE("a file that is not the one loaded is turned down") {
  const auto [before, after] =
      GENERATE(std::pair<const char*, const char*>("nccl", "nccl_other"),
               std::pair<const char*, const char*>("nccl_no_id", "nccl_no_id_other"));
  const TempDir dir;
  copy_fixture(before, dir / "libnccl.so.2");
  const Fixture nccl(dir / "libnccl.so.2");
  SECTION("replaced") {
    copy_fixture(after, dir / "new");
    std::filesystem::rename(dir / "new", nccl.path());
    require_refused(find_ib(nccl.caller(), 11), Trouble::kFileReplaced, "was replaced");
  }
  SECTION("cut short") {
    std::filesystem::remove(nccl.path());
    copy_fixture(before, nccl.path());
    std::filesystem::resize_file(nccl.path(), 1000);
    require_refused(find_ib(nccl.caller(), 11), Trouble::kFileReplaced, "not a complete ELF");
  }
  SECTION("deleted") {
    std::filesystem::remove(nccl.path());
    require_refused(find_ib(nccl.caller(), 11), Trouble::kFileReplaced, "can't be opened");
  }
  SECTION("the same again") {
    std::filesystem::remove(nccl.path());
    copy_fixture(before, nccl.path());
    require_found(nccl, Method::kSymtab, 11, 22809);
  }
}

TEST_CASE("a file that was loaded by a relative path, from another folder") {
  const TempDir dir;
  copy_fixture("nccl", dir / "libnccl.so.2");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Fixture nccl("./libnccl.so.2");
  std::filesystem::current_path(before);
  require_found(nccl, Method::kSymtab, 11, 22809);
}

TEST_CASE("the first NCCL of a process is the one that is wrapped") {
  std::optional<Fixture> first(Fixture::named("nccl"));
  const Fixture second = Fixture::named("nccl_other");
  require_found(*first, Method::kSymtab, 11, 22809);
  require_refused(find_ib(second.caller(), 11), Trouble::kSecondNccl, first->path());
  require_refused(find_socket(second.caller(), 11), Trouble::kSecondNccl, "second NCCL");
  require_found(*first, Method::kSymtab, 11, 22809);
  first.reset();
  require_found(second, Method::kSymtab, 11, 22903);
}

TEST_CASE("a caller that is no NCCL means the only one loaded") {
  const void* here = reinterpret_cast<const void*>(&require_refused);
  require_refused(find_ib(here, 11), Trouble::kNoNccl, "no NCCL is loaded");
  CHECK(calling_nccl(here).file.empty());
  std::optional<Fixture> nccl(Fixture::named("nccl"));
  CHECK(find_ib(here, 11).vtable == nccl->table());
  CHECK(calling_nccl(here).version == 22809);
  const Fixture other = Fixture::named("nccl_other");
  require_refused(find_ib(here, 11), Trouble::kSeveralNccls, other.path());
  nccl.reset();
  CHECK(find_ib(here, 11).vtable == other.table());
}

TEST_CASE("a caller that is no NCCL finds one inside another library") {
  const Fixture framework = Fixture::named("framework_stripped");
  CHECK(find_ib(nullptr, 11).vtable == framework.table());
}
