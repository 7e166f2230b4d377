#include "diagnosis/connection.h"

#include "diagnosis/verb_causes.h"

namespace nnd::diagnosis {

namespace {

std::string returned(const FailedCall& seen) {
  return "The transport's " + seen.stage + " returned " + std::to_string(seen.rc) + " after " +
         std::to_string(seen.age_ns / 1'000'000) + " ms";
}

// What a peer that doesn't fit leads to: nothing but the transport's own result, or a QP that can't
// be moved.
bool may_be_pair(const FailedCall& seen) {
  return (seen.stage == "connect" || seen.stage == "accept") && seen.wc_status == 0 &&
         (seen.verb.empty() || seen.verb == "ibv_modify_qp");
}

bool registers(const FailedCall& seen) { return seen.stage.starts_with("regMr"); }

}  // namespace

bool keeps_apart(Cause cause) noexcept {
  switch (cause) {
    case Cause::kSubRail:
    case Cause::kSubDirect:
    case Cause::kSubIntra:
    case Cause::kSubSame:
    case Cause::kGidDiff:
    case Cause::kDevMixLl:
    case Cause::kIbFlid:
    case Cause::kQp110:
    case Cause::kQp101:
    case Cause::kQp113:
      return true;
    default:
      return false;
  }
}

Diagnosis diagnose(const FailedVerb& seen) {
  return by_default(verb_cause(seen.verb, seen.error, seen.locked),
                    seen.verb + " failed with errno " + errno_text(seen.error) + '.');
}

bool is_told_by_warning(const FailedCall& seen) noexcept {
  return seen.verb.empty() && seen.wc_status == 0 && !seen.said.empty() && !registers(seen) &&
         !(may_be_pair(seen) && seen.layers.differ());
}

Diagnosis diagnose(const FailedCall& seen, const Diagnosis* failure) {
  std::string sentence = returned(seen);
  if (failure != nullptr) {
    sentence += ": " + failure->sentence;
    if (registers(seen)) sentence += " NCCL goes on without this registration where it can.";
    return {failure->cause, sentence, failure->remedy, failure->evidence};
  }
  if (!seen.verb.empty())
    sentence += "; " + seen.verb + " failed with errno " + errno_text(seen.verb_errno);
  else if (seen.wc_status != 0)
    sentence += "; a work request failed with completion status " + std::to_string(seen.wc_status);
  if (may_be_pair(seen) && seen.layers.differ())
    return by_default(Cause::kDevMixLl, sentence + "; " + seen.layers.text() + '.');
  if (registers(seen) && seen.verb.empty())
    return by_default(Cause::kGdrRegFail,
                      sentence + ". NCCL goes on without this registration where it can.");
  const Cause cause = seen.wc_status != 0 ? status_cause(seen.wc_status)
                      : seen.verb.empty() ? result_cause(seen.rc)
                                          : verb_cause(seen.verb, seen.verb_errno, seen.locked);
  if (is_told_by_warning(seen)) sentence += "; NCCL's last warning: \"" + seen.said + '"';
  return by_default(cause, sentence + '.');
}

Diagnosis diagnose(const RefusedCall& seen, const Diagnosis& refusal) {
  return {refusal.cause, seen.stage + ": " + refusal.sentence, refusal.remedy, refusal.evidence};
}

Diagnosis diagnose(const MissingPeer& seen, const Diagnosis* failure) {
  const std::string age = std::to_string(seen.age_ns / 1'000'000) + " ms";
  std::string sentence;
  if (seen.abandoned) {
    sentence = "NCCL gave up on this connection after " + age + " in " + seen.stage;
  } else {
    const char* const where =
        seen.qp_state < 0   ? "no QP was made yet: the peer has not come or not answered"
        : seen.qp_state < 2 ? "QPs were made, the peer has not sent its own"
                            : "QPs are ready, the peer has not said that its own are";
    sentence = seen.stage + " has not ended after " + age + ", and the policy's deadline is " +
               std::to_string(static_cast<long>(seen.deadline_sec * 1000)) + " ms; stage: " + where;
  }
  if (failure != nullptr)
    return {failure->cause, sentence + ": " + failure->sentence, failure->remedy,
            failure->evidence};
  if (seen.layers.differ())
    return by_default(Cause::kDevMixLl, sentence + "; " + seen.layers.text() + '.');
  Diagnosis out = by_default(Cause::kHangConnect, sentence + '.');
  if (!seen.abandoned) out.remedy += " The policy's key is connect.deadline_sec.";
  return out;
}

Diagnosis diagnose(const FailedInit& seen, const Diagnosis* refusal) {
  const std::string sentence = "The transport's init returned " + std::to_string(seen.rc) +
                               (seen.verb.empty() ? "" : " after " + seen.verb + " failed");
  if (refusal != nullptr)
    return {refusal->cause, sentence + ": " + refusal->sentence, refusal->remedy,
            refusal->evidence};
  return {Cause::kDevFallback, sentence + '.',
          "NCCL goes on to another transport; NCCL_DEBUG=INFO says why."};
}

}  // namespace nnd::diagnosis
