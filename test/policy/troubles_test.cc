// None of the policy's rules is without a scenario, and docs/policy.md has them all.
#include "policy/troubles.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

#include "integration/harness.h"
#include "policy/load.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

// Keys that say how a rule is applied.
const std::set<std::string_view> kNoRules = {
    "mode",          "locked",        "hca.slow_percent",     "hca.min_mtu",
    "limits.action", "fallback.when", "connect.deadline_sec", "peers.subnets"};

// The scenarios that are in no table, each a test case of its own.
const std::set<Trouble> kByThemselves = {
    {"pair.link_layer", "DEV-MIXLL"},   // InfiniBand against RoCE
    {"hca.unusable", "DEV-NOPCI"},      // a device path that does not resolve
    {"roce.traffic_class", "ROCE-TC"},  // NCCL_IB_TC against the policy
    {"env.lint", "INC-ENV"},            // set for the container's first process alone
};

std::set<Trouble> tested() {
  std::set<Trouble> all = kByThemselves;
  all.merge(node_troubles());
  all.merge(pair_troubles());
  return all;
}

// The rows "| what | `rule` | CAUSE, CAUSE | default |".
std::set<Trouble> documented() {
  std::ifstream in(NND_SOURCE_DIR "/docs/policy.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::regex row(R"(\n\| [^|]+ \| `([a-z_0-9.]+)` \| ([A-Z0-9, -]+) \| [^|]+ \|)");
  std::set<Trouble> out;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    const std::string causes = (*it)[2];
    const std::regex one(R"([A-Z0-9-]+)");
    for (std::sregex_iterator cause(causes.begin(), causes.end(), one); cause != end; ++cause)
      out.insert({(*it)[1], cause->str()});
  }
  return out;
}

}  // namespace

TEST_CASE("every rule that a policy file can name has a scenario", "[troubles]") {
  const auto all = tested();
  for (const policy::KeyDoc& doc : policy::key_docs()) {
    if (kNoRules.contains(doc.key)) continue;
    INFO(doc.key);
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const Trouble& trouble) { return trouble.first == doc.key; }));
  }
}

TEST_CASE("the documentation has what the scenarios break, and nothing else", "[troubles]") {
  CHECK(documented() == tested());
}
