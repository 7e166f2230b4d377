// The table of causes: complete, unambiguous, and no id that a reader can't look up.
#include "diagnosis/catalogue.h"

#include <set>
#include <string>

#include "diagnosis/diagnosis.h"
#include "support/catch.h"

using namespace nnd::diagnosis;
using nccl_net_diag::find_cause;
using nccl_net_diag::kCauses;
using nccl_net_diag::Named;

static_assert(find_cause("DEV-BOND") == Cause::kDevBond);
static_assert(!find_cause("S3"));

TEST_CASE("every cause has an id of its own, in the table's order, and can be found by it") {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    const auto& entry = kCauses[i];
    CAPTURE(entry.id);
    CHECK(static_cast<std::size_t>(entry.cause) == i);
    CHECK(ids.insert(entry.id).second);
    CHECK(find_cause(entry.id) == entry.cause);
    CHECK(entry.id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == entry.id.npos);
    CHECK(entry.title.back() != '.');
  }
}

TEST_CASE("every cause is explained, with an example where an event names it") {
  std::set<std::string_view> meanings;
  for (const auto& entry : kCauses) {
    const Explanation& about = explain(entry.cause);
    CAPTURE(entry.id);
    CHECK(about.means.back() == '.');
    CHECK(about.recognised.back() == '.');
    CHECK_FALSE(about.remedy.empty());
    CHECK(meanings.insert(about.means).second);
    CHECK((entry.named == Named::kNow) == !about.example.empty());
    if (entry.named == Named::kNow) CHECK(about.event < nccl_net_diag::EventId::kCount);
  }
}

TEST_CASE("a cause tells whose fault it can be, and an id that nobody knows leaves it open") {
  using nccl_net_diag::Reach;
  using nccl_net_diag::reach_of_cause;
  const auto [id, reach] = GENERATE(table<const char*, Reach>({{"QP-110", Reach::kPair},
                                                               {"IB-FLID", Reach::kPair},
                                                               {"SUB-INTRA", Reach::kPair},
                                                               {"MR-14", Reach::kLocal},
                                                               {"ASYNC-PORT", Reach::kLocal},
                                                               {"WC-10", Reach::kPeer},
                                                               {"LIM-MEMLOCK", Reach::kNode},
                                                               {"INC-QPS", Reach::kJob},
                                                               {"WC-5", Reach::kEcho},
                                                               {"QP-ERRNO", Reach::kOpen},
                                                               {"FROM-TOMORROW", Reach::kOpen},
                                                               {"", Reach::kOpen}}));
  CAPTURE(id);
  CHECK(reach_of_cause(id) == reach);
}

TEST_CASE("a diagnosis as one line, the sentences apart") {
  CHECK(text({Cause::kSubRail, "No way", "Route."}) == "SUB-RAIL: No way. Route.");
  CHECK(text({Cause::kSubRail, "No way.", "Route."}) == "SUB-RAIL: No way. Route.");
  CHECK(text({Cause::kSubRail, "No way", ""}) == "SUB-RAIL: No way");
  CHECK(by_default(Cause::kSubRail, "No way").remedy == explain(Cause::kSubRail).remedy);
  CHECK(errno_text(110) == "110 (Connection timed out)");
}
