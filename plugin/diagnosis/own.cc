#include "diagnosis/own.h"

namespace nnd::diagnosis {

Diagnosis diagnose(const NotWrapped& seen) {
  return {Cause::kDevPlugin,
          "No transport is wrapped: " + (seen.why.empty() ? "none was found" : seen.why),
          "The job runs on NCCL's own transport; connections and requests are not seen here."};
}

Diagnosis diagnose(const TooOldToWrap& seen) {
  return {Cause::kDevPlugin,
          "NCCL uses a net plugin of net API v" + std::to_string(seen.net_version) +
              ", which is too old to be wrapped: nothing of the network is logged or refused.",
          "Update that plugin, or set NCCL_NET_DIAG_INNER=IB for NCCL's own transport."};
}

Diagnosis diagnose(const ForgetsPlugin& seen) {
  return {Cause::kDevPlugin,
          "NCCL " + seen.nccl +
              " forgets its net plugin when the last communicator is destroyed; the next "
              "communicator then runs without it",
          "Set NCCL_NET_PLUGIN_REF_COUNT=1 in the job's environment."};
}

Diagnosis diagnose(const WrongVariable& seen) {
  Diagnosis out =
      by_default(Cause::kEnvWrong,
                 seen.name + (seen.value.empty() ? "" : "=" + seen.value) + ": " + seen.problem);
  if (!seen.nearest.empty()) out.remedy = "Did you mean " + seen.nearest + "?";
  return out;
}

Diagnosis diagnose(const VerbsLibraryNotOpened& seen) {
  return {Cause::kEnvWrong, "NCCL_NET_DIAG_VERBS_LIB could not be opened: " + seen.error + ".",
          "Name a verbs library that the loader finds; until then calls go to the one that NCCL "
          "opened."};
}

Diagnosis diagnose(const PolicyMistake& seen) {
  return {Cause::kPolicy, seen.text, "Correct the policy file."};
}

Diagnosis diagnose(const TcpWrapped&) {
  return {Cause::kDevFallback,
          "NCCL's own TCP transport is what is wrapped (NCCL_NET_DIAG_INNER or NCCL_NET), and the "
          "policy denies TCP.",
          "Unset NCCL_NET_DIAG_INNER and NCCL_NET, or, where TCP is meant, have fallback.socket "
          "allowed in the policy."};
}

Diagnosis diagnose(const CannotEnforce& seen) {
  return {Cause::kPolicy, "The policy can't be enforced: " + seen.why,
          seen.plugin
              ? "Set NCCL_NET_DIAG_INNER=IB for NCCL's own transport, or, where the job may run "
                "without the policy, NCCL_NET_DIAG_MODE=warn."
              : "Where the job may run without it, set NCCL_NET_DIAG_MODE=warn."};
}

Diagnosis diagnose(const NotJudged& seen) {
  return {Cause::kPolicy,
          "The rules were not applied, since judging failed by itself: " + seen.why + ".",
          "The job runs as it would without them. In mode enforce it would have been refused."};
}

Diagnosis diagnose(const LostEvents& seen) {
  if (seen.limit_bytes != 0)
    return by_default(Cause::kLogLimit, "the event log reached its limit of " +
                                            std::to_string(seen.limit_bytes) +
                                            " bytes: older lines of healthy connections give way "
                                            "to later ones; warnings, errors and "
                                            "what came last are there");
  return by_default(Cause::kLogDropped, std::to_string(seen.count) + " events were not written");
}

}  // namespace nnd::diagnosis
