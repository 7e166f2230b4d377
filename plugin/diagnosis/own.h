// What this library has to say of itself, its policy and its log.
#pragma once

#include <cstdint>
#include <string>

#include "diagnosis/diagnosis.h"

namespace nnd::diagnosis {

struct NotWrapped {
  std::string why;  // empty: nothing was found
};
Diagnosis diagnose(const NotWrapped& seen);

struct TooOldToWrap {
  int net_version = 0;  // of the plugin's table that NCCL takes
};
Diagnosis diagnose(const TooOldToWrap& seen);

struct ForgetsPlugin {
  std::string nccl;  // "2.28.9"
};
Diagnosis diagnose(const ForgetsPlugin& seen);

// A variable NCCL_NET_DIAG_*.
struct WrongVariable {
  std::string name;
  std::string value;
  std::string problem;
  std::string nearest = {};  // a known name or value; empty: none is near
};
Diagnosis diagnose(const WrongVariable& seen);

// NCCL_NET_DIAG_VERBS_LIB
struct VerbsLibraryNotOpened {
  std::string error;
};
Diagnosis diagnose(const VerbsLibraryNotOpened& seen);

struct PolicyMistake {
  std::string text;  // "policy.toml:4: hca.bnod: unknown key; did you mean hca.bond?"
};
Diagnosis diagnose(const PolicyMistake& seen);

// NCCL's own TCP transport is wrapped, and the policy denies TCP.
struct TcpWrapped {};
Diagnosis diagnose(const TcpWrapped& seen);

struct CannotEnforce {
  std::string why;
  bool plugin = false;  // NCCL's own transport could be enforced on
};
Diagnosis diagnose(const CannotEnforce& seen);

// The rules were not applied: an internal failure.
struct NotJudged {
  std::string why;
};
Diagnosis diagnose(const NotJudged& seen);

struct LostEvents {
  std::uint64_t count = 0;
  std::uint64_t limit_bytes = 0;  // the log is as large as that; 0: another reason
};
Diagnosis diagnose(const LostEvents& seen);

}  // namespace nnd::diagnosis
