// A libnccl that isn't as it was built: the shim wraps what it can be sure of, and where it can't,
// the job runs on NCCL's own transport, seen by the verbs layer, and one line says why.
#include <filesystem>

#include "elf/symbols.h"
#include "integration/harness.h"
#include "integration/nccl_copy.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

constexpr std::uint64_t kWord = sizeof(void*);

// Where the table of NCCL's own IB transport is in the library.
std::uint64_t table() { return elf::read_symbols(nccl()).find("ncclNetIb").value(); }

struct Damaged {
  explicit Damaged(bool with_symbols = false)
      : file(dir / "libnccl.so.2"), copy(nccl(), file, with_symbols), job(two_hosts()) {}

  driver::Transport shim() const { return {file, "diag", "", false, nccl()}; }
  driver::Transport builtin() const { return {file, "", "IB", false, nccl()}; }

  // NCCL passes over a plugin whose init fails; its own transport then carries the job.
  void run_without() {
    for (const auto& reply : job->all({{"op", "init"}})) CHECK(reply["rc"] != 0);
    job.run_all(builtin(), 1);
  }
  // What the log says about why nothing is wrapped: one line, and the QPs all the same.
  std::string complaint() {
    job.check_logs();
    const auto events = job.log(0);
    CHECK(!of_kind(events, "qp.transition").empty());
    const auto loaded = of_kind(events, "plugin.load");
    REQUIRE(loaded.size() == 1);
    CHECK(loaded[0]["layers"] == json({"verbs"}));
    CHECK(of_severity(events, "warn").size() == 1);
    CHECK(loaded[0]["sev"] == "warn");
    return loaded[0]["msg"];
  }

  const ScratchDir dir;
  const std::string file;
  NcclCopy copy;
  EmulatedJob job;
};

}  // namespace

TEST_CASE("a stripped libnccl is wrapped, also without section headers") {
  const bool sections = GENERATE(true, false);
  CAPTURE(sections);
  Damaged damaged;
  if (!sections) damaged.copy.cut_section_headers();
  damaged.job.run_all(damaged.shim(), 2);
  damaged.job.check_logs();
  const auto events = damaged.job.log(0);
  CHECK(of_kind(events, "plugin.load").at(0)["inner"]["method"] == "shape");
  check_lives(events, 4);
}

// RCCL (ROCm/rccl src/net.cc, 2.21.5) opens the plugin by its name as it is, or as
// librccl-net-NAME.so, and asks for net v8: with its own transport it can't be played here.
TEST_CASE("a library of RCCL's name that loads the plugin by its file's name") {
  const ScratchDir dir;
  const std::string file = dir / "librccl.so.1";
  const NcclCopy copy(nccl(), file, true);
  EmulatedJob job(two_hosts());
  job.run_all({file, "libnccl-net-diag.so", "", false, nccl()}, 2);
  job.check_logs();
  check_lives(job.log(0), 4);
}

TEST_CASE("a slot that is no function") {
  const bool with_symbols = GENERATE(true, false);
  CAPTURE(with_symbols);
  Damaged damaged(with_symbols);
  // regMrDmaBuf, which nothing here calls, is a place in the table itself.
  damaged.copy.change_relocation(table() + 8 * kWord, [](Elf64_Rela& rela) {
    rela.r_addend = static_cast<Elf64_Sxword>(table());
  });
  damaged.job->all(damaged.shim().request());
  damaged.run_without();
  CHECK_THAT(damaged.complaint(),
             contains(with_symbols ? "slot 8 of" : "nor a table of functions"));
}

TEST_CASE("slots that are one place off") {
  Damaged damaged;
  for (std::uint64_t slot = 16; slot >= 1; --slot)
    damaged.copy.change_relocation(table() + slot * kWord,
                                   [](Elf64_Rela& rela) { rela.r_offset += kWord; });
  damaged.job->all(damaged.shim().request());
  for (const auto& reply : damaged.job->all({{"op", "init"}})) CHECK(reply["rc"] != 0);
  damaged.job->exit();
  const auto loaded = of_kind(damaged.job.log(0), "plugin.load");
  REQUIRE(loaded.size() == 1);
  CHECK_THAT(loaded[0]["msg"].get<std::string>(), contains("nor a table of functions"));
}

TEST_CASE("a file that was replaced after it was loaded") {
  Damaged damaged;
  damaged.job->all(damaged.shim().request());
  NcclCopy other(nccl(), damaged.dir / "new");
  other.change_build_id();
  std::filesystem::rename(damaged.dir / "new", damaged.file);
  damaged.run_without();
  CHECK_THAT(damaged.complaint(), contains("its file was replaced: it has build id"));
}

TEST_CASE(
    "an init that found nothing to wrap, and one that does after the plugin was loaded anew") {
  Damaged damaged;
  damaged.job->all(damaged.shim().request());
  std::filesystem::rename(damaged.file, damaged.dir / "kept");
  const auto inits = damaged.job->all({{"op", "init"}});
  for (int rank = 0; rank < 2; ++rank) {
    const auto& init = inits[static_cast<std::size_t>(rank)];
    CHECK(init["rc"] != 0);
    // 2.28.9 does so after a failed init too.
    const json finalize{{"op", "finalize"}, {"context", init["context"]}};
    CHECK(damaged.job->run(rank, finalize)["rc"] == 0);
  }
  damaged.job->all({{"op", "unload"}});
  std::filesystem::rename(damaged.dir / "kept", damaged.file);
  damaged.job.run_all(damaged.shim(), 2);
  damaged.job.check_logs();
  const auto events = damaged.job.log(0);
  const auto loads = of_kind(events, "plugin.load");
  REQUIRE(loads.size() == 2);
  CHECK(loads[0]["sev"] == "warn");
  CHECK_THAT(loads[0]["msg"].get<std::string>(), contains("No transport is wrapped"));
  CHECK(loads[1]["inner"]["method"] == "shape");
  check_lives(events, 4);
}
