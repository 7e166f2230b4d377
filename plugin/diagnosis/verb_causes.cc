#include "diagnosis/verb_causes.h"

#include <cerrno>

namespace nnd::diagnosis {

Cause qp_cause(int error) noexcept {
  switch (error) {
    case ETIMEDOUT:
      return Cause::kQp110;
    case EINVAL:
      return Cause::kQp22;
    case ENODEV:
      return Cause::kQp19;
    case ENODATA:
      return Cause::kQp61;
    case ENETUNREACH:
      return Cause::kQp101;
    case EHOSTUNREACH:
      return Cause::kQp113;
    case EPERM:
      return Cause::kQp1;
    case EACCES:
      return Cause::kQp13;
    case ENOMEM:
      return Cause::kQp12;
    default:
      return Cause::kQpErrno;
  }
}

bool any_verb(Cause qp) noexcept {
  return qp == Cause::kQp1 || qp == Cause::kQp12 || qp == Cause::kQp13;
}

Cause registration_cause(int error) noexcept {
  switch (error) {
    case EFAULT:
      return Cause::kMr14;
    case EINVAL:
      return Cause::kMr22;
    default:
      return Cause::kMrErrno;
  }
}

Cause status_cause(int status) noexcept {
  switch (status) {
    case 1:
      return Cause::kWc1;
    case 2:
      return Cause::kWc2;
    case 4:
      return Cause::kWc4;
    case 5:
      return Cause::kWc5;
    case 7:
      return Cause::kWc7;
    case 8:
      return Cause::kWc8;
    case 9:
      return Cause::kWc9;
    case 10:
      return Cause::kWc10;
    case 11:
      return Cause::kWc11;
    case 12:
      return Cause::kWc12;
    case 13:
      return Cause::kWc13;
    case 19:
      return Cause::kWc19;
    case 21:
      return Cause::kWc21;
    default:
      return Cause::kWcStatus;
  }
}

Cause result_cause(int rc) noexcept {
  switch (rc) {
    case 1:
      return Cause::kRc1;
    case 2:
      return Cause::kRc2;
    case 3:
      return Cause::kRc3;
    case 4:
      return Cause::kRc4;
    case 5:
      return Cause::kRc5;
    case 6:
      return Cause::kRc6;
    default:
      return Cause::kRcOther;
  }
}

Cause verb_cause(std::string_view verb, int error, const LockedMemory& locked) noexcept {
  const auto has = [verb](std::string_view part) { return verb.find(part) != verb.npos; };
  if (error == EMFILE || error == ENFILE) return Cause::kLimNoFile;
  // Somebody answered there, and went.
  if (verb == "connect" && (error == ECONNABORTED || error == ECONNRESET)) return Cause::kOobClosed;
  if (verb == "connect" || verb == "socket" || verb == "accept") return Cause::kOobBlocked;
  const bool holds_memory = has("create_cq") || has("create_qp") || has("reg_");
  if (error == ENOMEM && holds_memory) return out_of_memory(locked);
  if (has("_qp")) return qp_cause(error);
  if (has("cq")) return Cause::kCqErrno;
  if (has("reg_")) return registration_cause(error);
  if (has("post_")) return Cause::kPostErrno;
  return Cause::kVerbsErrno;
}

}  // namespace nnd::diagnosis
