// A connection that fails or never comes, and what this library says of itself.
#include "diagnosis/connection.h"

#include "diagnosis/own.h"
#include "diagnosis/queue_pair.h"
#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

FailedCall call(const char* stage, const char* verb = "", int error = 0) {
  FailedCall seen;
  seen.stage = stage;
  seen.rc = 2;
  seen.age_ns = 7'000'000;
  seen.verb = verb;
  seen.verb_errno = error;
  return seen;
}

}  // namespace

TEST_CASE("a call that failed has the cause and the advice of its failure") {
  FailedTransition move;
  move.place = "mlx5_1:1";
  move.from = "INIT";
  move.to = "RTR";
  move.error = 110;
  move.reach = Reachability::kNoRoute;
  move.why = "no route leaves by ens2";
  const Diagnosis failure = diagnose(move);
  const Diagnosis out = diagnose(call("connect", "ibv_modify_qp", 110), &failure);
  CHECK(out.cause == Cause::kSubRail);
  CHECK(out.remedy == failure.remedy);
  CHECK(out.sentence == "The transport's connect returned 2 after 7 ms: " + failure.sentence);
}

TEST_CASE("a call of which nothing was diagnosed: by verb and errno, or by NCCL's result") {
  struct Row {
    const char* verb;
    int error;
    Cause cause;
  };
  const auto row =
      GENERATE(Row{"ibv_modify_qp", 110, Cause::kQp110}, Row{"ibv_create_cq", 22, Cause::kCqErrno},
               Row{"ibv_reg_mr", 14, Cause::kMr14}, Row{"ibv_post_send", 12, Cause::kPostErrno},
               Row{"ibv_alloc_pd", 12, Cause::kVerbsErrno}, Row{"connect", 103, Cause::kOobClosed},
               Row{"connect", 111, Cause::kOobBlocked}, Row{"", 0, Cause::kRc2});
  CAPTURE(row.verb);
  const Diagnosis out = diagnose(call("connect", row.verb, row.error));
  CHECK(out.cause == row.cause);
  if (row.error != 0)
    CHECK(out.sentence.find(std::string(row.verb) + " failed with errno " +
                            errno_text(row.error)) != std::string::npos);
}

TEST_CASE("what NCCL itself warned of is told where nothing else says why a call failed") {
  FailedCall seen = call("connect");
  seen.said = "NET/IB: open failed: No such file or directory";
  CHECK(diagnose(seen).sentence.find("NCCL's last warning: \"" + seen.said + "\".") !=
        std::string::npos);
  seen.verb = "ibv_modify_qp";
  CHECK(diagnose(seen).sentence.find(seen.said) == std::string::npos);
}

TEST_CASE("each of NCCL's results has an id") {
  std::string ids;
  for (int rc = 1; rc <= 7; ++rc) {
    FailedCall seen = call("accept");
    seen.rc = rc;
    ids += std::string(nccl_net_diag::cause_id(diagnose(seen).cause)) + ' ';
  }
  CHECK(ids == "RC-1 RC-2 RC-3 RC-4 RC-5 RC-6 RC-OTHER ");
}

TEST_CASE("a completion that made test fail") {
  FailedCall seen = call("test");
  seen.wc_status = 12;
  CHECK(diagnose(seen).cause == Cause::kWc12);
  CHECK(diagnose(seen).sentence.find("completion status 12") != std::string::npos);
}

TEST_CASE("two link layers explain a connect that fails without a reason") {
  FailedCall seen = call("accept");
  seen.layers = {2, 1};
  CHECK(diagnose(seen).cause == Cause::kDevMixLl);
  seen.layers = {2, 2};
  CHECK(diagnose(seen).cause == Cause::kRc2);
  seen = call("accept", "ibv_create_cq", 22);
  seen.layers = {2, 1};
  CHECK(diagnose(seen).cause == Cause::kCqErrno);
  seen = call("regMr");
  seen.layers = {2, 1};
  CHECK(diagnose(seen).cause == Cause::kGdrRegFail);
}

TEST_CASE("a peer that is missing, or doesn't fit") {
  MissingPeer seen;
  seen.stage = "accept";
  seen.age_ns = 15'021'000'000;
  seen.abandoned = true;
  CHECK(diagnose(seen).cause == Cause::kHangConnect);
  CHECK(diagnose(seen).sentence == "NCCL gave up on this connection after 15021 ms in accept.");
  seen.abandoned = false;
  seen.deadline_sec = 15;
  CHECK(diagnose(seen).sentence.find("deadline is 15000 ms; stage: no QP was made yet") !=
        std::string::npos);
  CHECK(diagnose(seen).remedy.find("connect.deadline_sec") != std::string::npos);
  seen.qp_state = 2;
  CHECK(diagnose(seen).sentence.find("QPs are ready") != std::string::npos);
  seen.layers = {1, 2};
  CHECK(diagnose(seen).cause == Cause::kDevMixLl);
}

TEST_CASE("an init that fails sends NCCL to another transport, unless the policy forbids it") {
  CHECK(diagnose(FailedInit{2, "ibv_open_device"}).sentence ==
        "The transport's init returned 2 after ibv_open_device failed.");
  CHECK(diagnose(FailedInit{2}).remedy.find("another transport") != std::string::npos);
  const Diagnosis refusal{Cause::kIncNDevs, "too few.", "Look."};
  const Diagnosis refused = diagnose(FailedInit{2}, &refusal);
  CHECK(refused.cause == Cause::kIncNDevs);
  CHECK(refused.sentence == "The transport's init returned 2: too few.");
  CHECK(refused.remedy == "Look.");
  CHECK(diagnose(RefusedCall{"listen"}, refusal).sentence == "listen: too few.");
}

TEST_CASE("a registration that fails is one that NCCL may do without") {
  const Diagnosis failure{Cause::kGdrRegFail, "mlx5_0: no.", "Reload."};
  const Diagnosis out = diagnose(call("regMr", "ibv_reg_mr", 14), &failure);
  CHECK(out.cause == Cause::kGdrRegFail);
  CHECK(out.remedy == "Reload.");
  CHECK(out.sentence ==
        "The transport's regMr returned 2 after 7 ms: mlx5_0: no. NCCL goes on without this "
        "registration where it can.");
  CHECK(diagnose(call("regMrDmaBuf")).cause == Cause::kGdrRegFail);
  CHECK(diagnose(call("regMr", "ibv_reg_mr", 22)).cause == Cause::kMr22);
}

TEST_CASE("a peer that is given up on after a failure") {
  const Diagnosis failure{Cause::kSubRail, "no route.", "Route."};
  MissingPeer seen;
  seen.stage = "connect";
  seen.abandoned = true;
  CHECK(diagnose(seen, &failure).cause == Cause::kSubRail);
  CHECK(diagnose(seen, &failure).sentence ==
        "NCCL gave up on this connection after 0 ms in connect: no route.");
}

TEST_CASE("this library's own ids") {
  CHECK(diagnose(WrongVariable{"NCCL_NET_DIAG_FIEL", "x", "is not known"}).cause ==
        Cause::kEnvWrong);
  CHECK(diagnose(WrongVariable{"A", "x", "p", "NCCL_NET_DIAG_FILE"}).remedy ==
        "Did you mean NCCL_NET_DIAG_FILE?");
  CHECK(diagnose(LostEvents{3, 0}).cause == Cause::kLogDropped);
  CHECK(diagnose(LostEvents{3, 1000}).cause == Cause::kLogLimit);
  CHECK(diagnose(CannotEnforce{"no verbs"}).cause == Cause::kPolicy);
  CHECK(diagnose(PolicyMistake{"policy.toml:4: bad"}).sentence == "policy.toml:4: bad");
  CHECK(diagnose(NotWrapped{}).cause == Cause::kDevPlugin);
  CHECK(diagnose(ForgetsPlugin{"2.28.9"}).remedy.find("NCCL_NET_PLUGIN_REF_COUNT=1") !=
        std::string::npos);
}
