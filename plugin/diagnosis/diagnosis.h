// What a failure or an odd fact comes down to: one cause, one sentence, what to do. Made by the
// diagnose() functions of this room from plain structs that name what was seen. They are pure: the
// same evidence gives the same words, in the process and for a reader of its log.
#pragma once

#include <string>

#include "nccl_net_diag/causes.h"

namespace nnd::diagnosis {

using nccl_net_diag::Cause;

struct Diagnosis {
  Cause cause{};
  std::string sentence;  // what was seen
  std::string remedy;    // what to do
  // What the cause was recognised by, as a clause for the sentence of a later event of the same
  // failure; empty: the sentence says it all.
  std::string evidence = {};
};

// With the catalogue's remedy.
Diagnosis by_default(Cause cause, std::string sentence);

// The same where only the evidence is known yet; the sentence is to follow.
Diagnosis by_evidence(Cause cause, std::string evidence);

std::string remedy_of(Cause cause);  // the catalogue's
// Where only the driver knows more.
Diagnosis ask_the_driver(Cause cause, std::string sentence);

// "SUB-RAIL: sentence. remedy", for NCCL's logger.
std::string text(const Diagnosis& diagnosis);

// "110 (Connection timed out)"
std::string errno_text(int error);

}  // namespace nnd::diagnosis
