// Every failure mode of the field, with and without its fault, against docs/scoreboard.md; and
// again with what its log advises. NND_SCOREBOARD_PART=2/4 plays the second quarter,
// NND_SCOREBOARD_ONLY=ID one mode; NND_SCOREBOARD_WRITE=1 writes the page instead of comparing it.
// NND_SCOREBOARD_ELSEWHERE="RELEASE GPUS" plays each on the other node and other HCAs, under that
// release and with so many GPUs in a node.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "scoreboard/elsewhere.h"
#include "scoreboard/entry.h"
#include "scoreboard/headline.h"
#include "scoreboard/page.h"
#include "scoreboard/play.h"
#include "scoreboard/remedies.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::scoreboard;
using nlohmann::json;

namespace {

constexpr std::size_t kModes = 68;  // of the catalogue

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_elsewhere() { return !setting("NND_SCOREBOARD_ELSEWHERE").empty(); }

std::vector<Entry> wanted_entries() {
  std::vector<Entry> all = read_entries(NND_ENTRIES);
  if (is_elsewhere()) {
    Elsewhere where;
    std::istringstream(setting("NND_SCOREBOARD_ELSEWHERE")) >> where.nccl >> where.gpus;
    for (Entry& entry : all) entry = put_elsewhere(std::move(entry), where);
  }
  const std::string only = setting("NND_SCOREBOARD_ONLY"), part = setting("NND_SCOREBOARD_PART");
  if (!only.empty()) std::erase_if(all, [&](const Entry& one) { return one.id != only; });
  std::size_t mine = 1, parts = 1;
  if (std::sscanf(part.c_str(), "%zu/%zu", &mine, &parts) == 2) {
    std::vector<Entry> some;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i % parts == mine - 1) some.push_back(std::move(all[i]));
    return some;
  }
  return all;
}

std::string gid_text(const json& event, const char* of) {
  std::string out = event.value(of, json::object()).value("gid", "");
  return out.starts_with("::ffff:") ? out.substr(7) : out;
}

// "WC-12 mlx5_0 10.200.0.2", without what the mode doesn't blame.
std::string words_of(const json& event, const Expected& expected) {
  std::string out = event["cause"];
  if (!expected.device.empty())
    out += " " + event.value("dev", json::object()).value("name", "no device");
  if (!expected.peer.empty()) {
    const std::string peer = gid_text(event, "peer");
    out += " " + (peer.empty() ? "no peer" : peer);
  }
  return out;
}

std::string missing(const Fit& fit) {
  std::string out;
  for (const auto& [there, name] : {std::pair{fit.device, "device"},
                                    {fit.peer, "peer"},
                                    {fit.remedy, "remedy"},
                                    {fit.sentence, "sentence"}})
    if (!there) out += std::string(out.empty() ? "without " : ", ") + name;
  return out;
}

// What was told that isn't tolerated, one line each.
std::vector<std::string> troubles(const Seen& seen, const World& world) {
  std::vector<std::string> out;
  for (const json& event : seen.events)
    if (event["sev"] != "info" && std::find(world.tolerate.begin(), world.tolerate.end(),
                                            event.value("cause", "")) == world.tolerate.end())
      out.push_back(fmt::format("rank {} {} {}: {}", event["rank"].get<int>(),
                                event["ev"].get<std::string>(), event.value("cause", ""),
                                event.value("msg", "")));
  return out;
}

// One after the other: each world is played once, however many modes it is the healthy one of.
void check_healthy(const World& world) {
  static std::set<std::string> seen_well;
  if (!seen_well
           .insert(fmt::format("{}{}{}{}", world.scenario, json(world.environment).dump(),
                               world.job, world.nccl))
           .second)
    return;
  const Seen seen = play(world, "", nullptr);
  if (seen.trouble.starts_with("SKIPPED")) return;
  INFO(seen.trouble << seen.nccl);
  CHECK(seen.ok);
  CHECK(troubles(seen, world) == std::vector<std::string>{});
  INFO(seen.headline);
  CHECK(seen.report_exit == 0);
  if (world.tolerate.empty()) CHECK(seen.headline.starts_with("fine"));
  if (!is_elsewhere()) CHECK(seen.ras != "no answer");  // an old release has none
}

Row row_of(const Entry& entry, const Seen& seen) {
  Row row{.id = entry.id, .played = entry.played, .nccl = seen.nccl, .ras = seen.ras};
  const std::string wrong = wrong_with_headline(entry.headline, seen);
  row.report = wrong.empty() ? "right" : wrong;
  if (entry.by_report()) {
    row.result = wrong.empty() ? "named of both ends' logs" : "not named";
    row.says = entry.headline.cause;
    return row;
  }
  const json* const event = find_named(seen, entry.expected);
  if (event == nullptr) {
    row.result = "not named";
    return row;
  }
  const Fit found = fit(*event, entry.expected);
  row.result = found.whole() ? "named" : "partly: " + missing(found);
  row.says = words_of(*event, entry.expected);
  const auto at = (*event)["mono_ns"].get<std::uint64_t>();
  row.from_start = seen.fault_ns == 0;
  if (!row.from_start && at >= seen.fault_ns)
    row.ms = static_cast<double>(at - seen.fault_ns) / 1e6;
  if (!seen.nccl.empty())
    row.nccl_ms = (static_cast<double>(seen.nccl_ns) -
                   static_cast<double>(row.from_start ? at : seen.fault_ns)) /
                  1e6;
  return row;
}

// Their advice has a variable for one of several reasons, and the one that is played is another: a
// person has to look. remedies.toml has the reason that the variable is for.
const std::set<std::string> kForPeople{
    "DEV-ORDER",   // cabling
    "SUB-RAIL",    // no rail in common
    "SUB-DIRECT",  // the release under test doesn't know the variable
    // What the kernel refuses is an injected fault.
    "SUB-SAME", "QP-110", "QP-101/113", "QP-22", "QP-61",
    "WC-12",  // the peer is gone
    "WC-4",   // ACS or an IOMMU on the way
};

Row play(const Entry& entry, bool follow) {
  if (!entry.unseen.empty())
    return {.id = entry.id,
            .played = entry.unseen,
            .result = "not seen from a process",
            .says = entry.instead};
  if (!entry.test.empty())
    return {.id = entry.id,
            .played = entry.played + " (`" + entry.test + "`)",
            .result = "named",
            .says = entry.expected.cause};
  check_healthy(entry.healthy);
  const Seen seen = play(entry.faulty, entry.policy, entry.stop ? &entry.expected : nullptr);
  if (seen.trouble.starts_with("SKIPPED")) {
    nnd::test::skipped(entry.id + ": " + seen.trouble);
    return {.id = entry.id};
  }
  Row row = row_of(entry, seen);
  fmt::print("{:22} {} {} {:.0f} ms {}\n    report: {}: {}\n", row.id, row.result, row.says, row.ms,
             seen.trouble, row.report, seen.headline);
  std::fflush(stdout);
  if (follow && !entry.by_report() && !kForPeople.contains(entry.id)) check_remedies(entry, seen);
  if (row.result != "named")
    for (const std::string& other : troubles(seen, {})) fmt::print("    {}\n", other);
  return row;
}

std::string read_file(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("the table has every mode of the catalogue, once", "[table]") {
  std::set<std::string> ids;
  for (const Entry& entry : read_entries(NND_ENTRIES)) {
    INFO(entry.id);
    CHECK(ids.insert(entry.id).second);
    CHECK((!entry.played.empty() || !entry.unseen.empty()));
    CHECK(entry.unseen.empty() == entry.instead.empty());
  }
  CHECK(ids.size() == kModes);
}

TEST_CASE("each mode is named as docs/scoreboard.md says, and silent without its fault", "[play]") {
  const bool write = !setting("NND_SCOREBOARD_WRITE").empty();
  const auto documented = read_page(read_file(NND_PAGE));
  std::vector<Row> rows;
  for (const Entry& entry : wanted_entries()) {
    INFO(entry.id);
    Row row;
    CHECK_NOTHROW(row = play(entry, !write));
    if (row.result.empty()) continue;  // skipped
    rows.push_back(row);
    if (write) continue;
    REQUIRE(documented.contains(row.id));
    CHECK(row.lasting() == documented.at(row.id).lasting());
    if (documented.at(row.id).report == "right") CHECK(row.report == "right");
  }
  CHECK_FALSE(rows.empty());
  if (write) std::ofstream(NND_PAGE) << page(rows);
}
