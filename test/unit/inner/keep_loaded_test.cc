// NCCL is unloaded by some programs while threads of ours still have its logger.
#include "context/keep_loaded.h"

#include <optional>

#include "fixture.h"
#include "support/forked.h"

namespace {

bool is_loaded(const std::string& path) {
  void* const found = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (found != nullptr) dlclose(found);
  return found != nullptr;
}

}  // namespace

TEST_CASE("a library that is pointed into outlives its last dlclose, and its file") {
  const TempDir dir;
  for (const char* name : {"let-go.so", "kept.so", "removed.so"}) copy_fixture("nccl", dir / name);
  { const Fixture nccl(dir / "let-go.so"); }
  CHECK_FALSE(is_loaded(dir / "let-go.so"));
  // Each in a process of its own: what is kept is kept for good.
  CHECK(nnd::test::holds_in_child([&] {
    std::optional<Fixture> nccl(dir / "kept.so");
    const void* const code = nccl->caller();
    nnd::context::keep_loaded(code);
    nccl.reset();
    return is_loaded(dir / "kept.so") &&
           reinterpret_cast<const void* (*)()>(const_cast<void*>(code))() != nullptr;
  }));
  CHECK(nnd::test::holds_in_child([&] {
    std::optional<Fixture> nccl(dir / "removed.so");
    std::filesystem::remove(nccl->path());
    nnd::context::keep_loaded(nccl->table());  // data as well as code
    nccl.reset();
    return is_loaded(dir / "removed.so");
  }));
  nnd::context::keep_loaded(nullptr);
  nnd::context::keep_loaded(reinterpret_cast<const void*>(&is_loaded));
}
