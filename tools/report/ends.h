// How each process ended, and when.
#pragma once

#include <optional>
#include <vector>

#include "report/failures.h"
#include "report/span.h"
#include "report/waits.h"

namespace nnd::report {

// Who is asked to end has by then.
inline constexpr Ns kAskedTake = 3'000'000'000;

struct End {
  enum class Kind : std::uint8_t {
    kNone,  // it lives, or nobody knows
    kDied,  // it was ended: a signal, a crash, its node
    kLeft   // it ended by itself, and wrote its last words
  };
  Kind kind = Kind::kNone;
  Span when;            // from its last sign of life to when it was first missed
  bool sure = true;     // false: only its log ends, in the middle of a line, and others miss it
  bool missed = false;  // somebody failed towards it, or had requests that only it could answer
  bool needed = false;  // missed, as is seen and not only concluded
  bool failed = false;  // nobody was, and its exit status says that it failed
  bool failed_towards = false;  // the first of these
  // What failed towards it before its last sign of life, by clocks that nothing compares.
  std::optional<std::size_t> failed_before;  // of failures
  // Who found its connections closed first; the process may have lived on after that.
  std::optional<std::size_t> closed_for;
  bool died_then = false;            // it shows no life after that, and had closed nothing itself
  std::optional<std::size_t> after;  // of whose closed connections it failed
  bool together = false;  // as others of its node did, and which of them began can't be told
  bool done = false;      // it had called all that its communicators were for, and closed them
  bool waited = false;    // it died after seconds in which nothing that it had asked for moved

  bool ended() const { return kind != Kind::kNone; }
  // It may be a cause, or an effect: it did not just end in good order.
  bool matters() const {
    return kind == Kind::kDied || (kind == Kind::kLeft && (missed || failed));
  }
};

// Of each process. `open`: stalls that were not over.
std::vector<End> ends_of(const Picture& picture, const std::vector<Failure>& failures,
                         const std::vector<Wait>& open);

// It ended by itself, and its status says that its program failed.
bool tells_of_failure(const log::Process& process);

// It ended by itself with a status of its program's own that tells of a failure, neither because a
// launcher may have asked it to nor after a wait: it had nothing under way.
bool is_failed_exit(const log::Process& process);

// Its exit status is the number of SIGTERM or SIGINT, as a shell has it.
bool says_it_was_asked(const log::Process& process);

// By a signal, or by itself when it may have been asked to.
bool was_ended(const Member& member);

// For how long a process may have lived on after its box told so the last time.
Ns tick_of(const Member& member);

// By how much what two processes tell of one moment may be apart: their hosts' clocks, and the
// pace of the logs.
Ns apart(const Picture& picture, std::size_t one, std::size_t other);
// The same of their ends: who ends by itself says when, and boxes are late alike.
Ns between_ends(const Picture& picture, const std::vector<End>& ends, std::size_t one,
                std::size_t other);

}  // namespace nnd::report
