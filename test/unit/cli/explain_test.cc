// `explain`: what people have in their hands at three in the morning leads to the cause.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common/call_error.h"
#include "cli/explain/command.h"
#include "cli/explain/letters.h"
#include "cli/explain/numbers.h"
#include "cli/explain/sayings.h"
#include "cli/explain/search.h"
#include "support/catch.h"

using namespace nnd::cli;

namespace {

using Ids = std::vector<std::string>;

Ids ids_of(const std::vector<Match>& matches) {
  Ids out;
  for (const auto& match : matches) out.emplace_back(match.entry->id);
  return out;
}

// Those that nothing tells from the first.
Ids best(const std::string& wanted) {
  auto matches = search(wanted);
  std::erase_if(matches, [first = matches.empty() ? 0 : matches[0].strength](const Match& match) {
    return match.strength < first;
  });
  return ids_of(matches);
}

bool has(const Ids& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

TEST_CASE("an id in any spelling is that cause alone", "[explain]") {
  for (const char* const wanted : {"QP-110", "qp-110", "QP110", "qp 110", "QP_110"}) {
    INFO(wanted);
    CHECK(ids_of(search(wanted)) == Ids{"QP-110"});
  }
}

TEST_CASE("an errno by its number, its name and its text", "[explain]") {
  for (const char* const wanted :
       {"110", "ETIMEDOUT", "etimedout", "errno 110", "errno=110", "Connection timed out"}) {
    INFO(wanted);
    CHECK(best(wanted) == Ids{"QP-110"});
    CHECK(has(ids_of(search(wanted)), "SUB-RAIL"));
  }
  CHECK(best("ENOMEM") == Ids{"QP-12", "MR-12", "CQ-12"});
  CHECK(has(ids_of(search("ENOMEM")), "LIM-MEMLOCK"));
  CHECK(best("EMFILE").front() == "LIM-NOFILE");
  CHECK(has(best("ECONNREFUSED"), "DEV-OOB"));
}

TEST_CASE("every status of a completion has its name", "[explain]") {
  constexpr std::array<std::string_view, 23> kNames{"LOC_LEN_ERR",        "LOC_QP_OP_ERR",
                                                    "LOC_EEC_OP_ERR",     "LOC_PROT_ERR",
                                                    "WR_FLUSH_ERR",       "MW_BIND_ERR",
                                                    "BAD_RESP_ERR",       "LOC_ACCESS_ERR",
                                                    "REM_INV_REQ_ERR",    "REM_ACCESS_ERR",
                                                    "REM_OP_ERR",         "RETRY_EXC_ERR",
                                                    "RNR_RETRY_EXC_ERR",  "LOC_RDD_VIOL_ERR",
                                                    "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR",
                                                    "INV_EECN_ERR",       "INV_EEC_STATE_ERR",
                                                    "FATAL_ERR",          "RESP_TIMEOUT_ERR",
                                                    "GENERAL_ERR",        "TM_ERR",
                                                    "TM_RNDV_INCOMPLETE"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const int status = static_cast<int>(i) + 1;
    const std::string name(kNames[i]);
    CAPTURE(status, name);
    const auto by_number = meanings_of(status, NumberOf::kStatus);
    REQUIRE(by_number.size() == 1);
    CHECK(by_number[0].text == fmt::format("status {} of a completion (IBV_WC_{})", status, name));
    for (const std::string& spelt : {name, "IBV_WC_" + name}) {
      const auto by_name = meanings_of(spelt);
      REQUIRE(by_name.size() == 1);
      CHECK(by_name[0].text == by_number[0].text);
    }
    CHECK(has(number_names(), name));
  }
  // Success needs no explanation, and there is none after the last.
  for (const int none : {0, 24}) CHECK(meanings_of(none, NumberOf::kStatus).empty());
  CHECK(meanings_of("SUCCESS").empty());
}

TEST_CASE("a completion's status by its number and its names", "[explain]") {
  for (const char* const wanted :
       {"RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR", "retry_exc_err", "status 12", "status=12"}) {
    INFO(wanted);
    CHECK(best(wanted) == Ids{"WC-12"});
  }
  CHECK(best("IBV_WC_RNR_RETRY_EXC_ERR") == Ids{"WC-13"});
  CHECK(best("RESP_TIMEOUT_ERR") == Ids{"WC-STATUS"});  // it has no cause of its own
}

TEST_CASE("a number that may be several things lists them, the completion's first", "[explain]") {
  CHECK(best("12") == Ids{"WC-12", "QP-12", "MR-12", "CQ-12"});
  CHECK(best("5") == Ids{"WC-5", "RC-5"});
  CHECK(search("12")[0].why == "status 12 of a completion (IBV_WC_RETRY_EXC_ERR)");
  CHECK(search("4711").empty());
}

TEST_CASE("NCCL's results", "[explain]") {
  CHECK(best("ncclSystemError") == Ids{"RC-2"});
  CHECK(best("ncclremoteerror") == Ids{"RC-6"});
  CHECK(best("unhandled system error") == Ids{"RC-2"});
  CHECK(best("ncclSystemError: unhandled system error, NCCL version 2.28.9") == Ids{"RC-2"});
}

TEST_CASE("what NCCL says, whole lines and parts of them", "[explain]") {
  CHECK(best("Call to ibv_modify_qp failed").front() == "QP-110");
  CHECK(best("Call to ibv_modify_qp failed").size() > 5);
  CHECK(best("ibv_modify_qp") == best("Call to ibv_modify_qp failed"));
  // What the line says beside decides.
  CHECK(best("node1:17:42 [0] misc/ibvwrap.cc:328 NCCL WARN Call to ibv_modify_qp failed with 110 "
             "Connection timed out, on dev mlx5_1:1, curr state INIT, next state RTR") ==
        Ids{"QP-110"});
  CHECK(best("Call to ibv_modify_qp failed with error Invalid argument errno 22") == Ids{"QP-22"});
  CHECK(best("NET/IB: Got completion from peer 10.0.0.1<42> with status=IBV_WC_RETRY_EXC_ERR(12) "
             "opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send") == Ids{"WC-12"});
  CHECK(best("NET/IB : Got completion from peer 10.0.0.1<42> with status=12 opcode=0 len=0 vendor "
             "err 129 (Recv)") == Ids{"WC-12"});
  CHECK(best("socketFinalizeAccept").front() == "DEV-OOB");
  CHECK(best("socketFinalizeAccept from 127.0.0.1<34602>: wrong type 4 != 3") == Ids{"INC-IBTCP"});
  CHECK(best("message truncated").front() == "INC-ENV");
  CHECK(best("Message truncated : received 1024 bytes instead of 256").front() == "INC-ENV");
  CHECK(best("NET/IB : No device found.").front() == "DEV-FALLBACK");
  CHECK(
      best("socketStartConnect: Connect to 172.17.0.2<4242> failed : Connection refused").front() ==
      "DEV-OOB");
  CHECK(best("[Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 6") ==
        Ids{"RC-6"});
  CHECK(best("Watchdog caught collective operation timeout").front() == "HANG-DATA");
}

TEST_CASE("words of titles, then of explanations", "[explain]") {
  CHECK(best("link-local") == Ids{"GID-LINKLOCAL"});
  CHECK(best("bond plain") == Ids{"DEV-BOND"});
  CHECK(has(best("NCCL_IB_HCA"), "DEV-PREFIX"));
  CHECK(best("gid").size() > 5);  // a family of ids, and who has it in its title
}

TEST_CASE("what is nothing of ours is refused, with what was perhaps meant", "[explain]") {
  for (const auto& [wanted, near] :
       std::vector<std::pair<std::string, std::string>>{{"QP-11", "QP-110"},
                                                        {"ETIMEDUOT", "ETIMEDOUT"},
                                                        {"RETYR_EXC_ERR", "RETRY_EXC_ERR"},
                                                        {"ncclSystemEror", "ncclSystemError"},
                                                        {"xyzzyxyzzy", ""}}) {
    INFO(wanted);
    CHECK(search(wanted).empty());
    CHECK(nearest_known(wanted) == near);
    CHECK_THROWS_AS(explain_cause(wanted), CallError);
  }
  for (const char* const nothing : {" ", "-", "\"", "()"}) {
    INFO(nothing);
    CHECK(search(nothing).empty());
  }
}

TEST_CASE("one is explained, several are listed, and programs get both", "[explain]") {
  const auto one = explain_cause("ETIMEDOUT");
  CHECK(one.verdict.starts_with("QP-110: "));
  CHECK(one.body["id"] == "QP-110");
  CHECK(one.body["matches"][0]["id"] == "QP-110");
  CHECK(one.body["matches"][0]["because"] == "errno 110 (ETIMEDOUT, Connection timed out)");
  const auto page = one.page(Screen());
  CHECK(page.find("What to do: ") != page.npos);
  CHECK(page.find("SUB-RAIL") != page.npos);

  const auto several = explain_cause("12");
  CHECK(several.verdict.starts_with("12 may mean "));
  CHECK_FALSE(several.body.contains("id"));
  REQUIRE(several.body["matches"].size() >= 4);
  CHECK(several.body["matches"][0]["id"] == "WC-12");
  CHECK(several.body["matches"][0].contains("remedy"));
  const auto lines = several.brief();
  CHECK(lines.size() == several.body["matches"].size());
  CHECK(lines[0].starts_with("WC-12: "));
  CHECK(several.page(Screen()).find("completion") != std::string::npos);
}

TEST_CASE("sayings can be found", "[explain]") {
  std::vector<std::string_view> seen;
  for (const auto& saying : sayings()) {
    INFO(saying.part);
    CHECK(saying.part == lower(saying.part));
    CHECK_FALSE(saying.causes.empty());
    CHECK(std::find(seen.begin(), seen.end(), saying.part) == seen.end());
    seen.push_back(saying.part);
    CHECK(has(ids_of(search(std::string(saying.part))),
              std::string(nccl_net_diag::cause_id(saying.causes[0]))));
  }
}
