#include "diagnosis/bootstrap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>

namespace nnd::diagnosis {

namespace {

constexpr double kLateSec = 30;

constexpr std::array<std::string_view, static_cast<std::size_t>(BootStep::kCount)> kSteps = {
    "root",  "answer",  "next",   "previous", "ring",  "gather",
    "reply", "connect", "accept", "receive",  "socket"};

std::string on(const std::string& address, const std::string& netdev) {
  return netdev.empty() ? address : address + " (" + netdev + ")";
}

std::string_view listens_there(BootStep step) {
  switch (step) {
    case BootStep::kRoot:
      return "where the root listens";
    case BootStep::kNext:
      return "where the next rank listens";
    case BootStep::kReply:
      return "where a rank that has come to the root listens";
    default:
      return "where another rank listens";
  }
}

std::string times(unsigned count) {
  return count == 1 ? "once" : count == 2 ? "twice" : fmt::format("{} times", count);
}

std::string connecting(const Bootstrap& seen) {
  const std::string who =
      seen.source.empty() ? "this process" : on(seen.source, seen.source_netdev);
  const std::string to = seen.target + ", " + std::string(listens_there(seen.step));
  switch (seen.far) {
    case FarEnd::kSilent:
      return fmt::format("{} gets no answer from {}: {} SYN sent", who, to, seen.retransmits + 1);
    case FarEnd::kRefuses:
      return fmt::format("{} is refused by {}: errno {}, {}", who, to, errno_text(seen.error),
                         times(seen.attempts));
    case FarEnd::kUnreachable: {
      std::string out = fmt::format("{} can't reach {}: errno {}", who, to, errno_text(seen.error));
      if (seen.refused != 0)
        out += fmt::format(", after the attempt before it had ended with errno {}",
                           errno_text(seen.refused));
      return out;
    }
    default:
      return fmt::format("{} connects to {}", who, to);
  }
}

std::string gathering(const Bootstrap& seen) {
  std::string out =
      fmt::format("the root, which listens on {}, waits for ranks", on(seen.target, seen.netdev));
  if (seen.guests == 0) return out + "; since this library came none has connected";
  return out + fmt::format("; since this library came {} {} connected, from {}", seen.guests,
                           seen.guests == 1 ? "has" : "have", fmt::join(seen.hosts, ", "));
}

std::string awaiting_answer(const Bootstrap& seen) {
  std::string out = fmt::format(
      "the root, {}, was told that this rank listens on {}, and has not answered: {}", seen.root,
      on(seen.listener, seen.netdev),
      seen.answers_in_pairs ? "the rank after this one has not come" : "not all ranks have come");
  return out + ", or the root can't connect to that address";
}

std::string what_is_seen(const Bootstrap& seen) {
  switch (seen.step) {
    case BootStep::kAnswer:
      return awaiting_answer(seen);
    case BootStep::kPrevious:
      return fmt::format("the previous rank has not connected to {}", on(seen.target, seen.netdev));
    case BootStep::kRing:
      return fmt::format(
          "all ranks have come, and from the previous one, {}, nothing follows: it, "
          "or one before it, is busy or stuck",
          seen.target);
    case BootStep::kGather:
      return gathering(seen);
    case BootStep::kAccept:
      return fmt::format("no other rank has connected to {}", on(seen.target, seen.netdev));
    case BootStep::kReceive:
      return fmt::format("nothing comes from another rank, {}", seen.target);
    case BootStep::kSocket:
      return fmt::format("{} failed with errno {}", seen.call, errno_text(seen.error));
    default:
      return connecting(seen);
  }
}

// What was seen that keeps two addresses apart.
std::string apart(const Bootstrap& seen) {
  std::string out;
  if (!seen.bridge.empty())
    out += fmt::format("; that address is in the subnet of {}, which this host has for itself",
                       seen.bridge);
  else if (seen.link_local)
    out += "; that address is link-local";
  else if (!seen.source_subnet.empty())
    out +=
        fmt::format("; that address is outside {} of {}", seen.source_subnet, seen.source_netdev);
  if (seen.neighbour == "failed" || seen.neighbour == "incomplete")
    out += fmt::format("; nobody in {}'s network says it has that address", seen.source_netdev);
  return out;
}

std::string of_listener(const Bootstrap& seen) {
  if (seen.confined.empty()) return "";
  std::string out = fmt::format("; {} is {}", on(seen.listener, seen.netdev), seen.confined);
  if (!seen.why.empty()) out += fmt::format(", and NCCL took it by its rule: {}", seen.why);
  if (!seen.source.empty() && seen.step == BootStep::kAnswer)
    out +=
        fmt::format("; the root itself was reached from {}", on(seen.source, seen.source_netdev));
  return out;
}

std::string remedy(const Bootstrap& seen) {
  constexpr std::string_view kChoose =
      "Set NCCL_SOCKET_IFNAME on every node to the interface by which the nodes reach each other.";
  if (!seen.confined.empty() || seen.link_local || !seen.bridge.empty())
    return std::string(kChoose);
  if (seen.far == FarEnd::kSilent)
    return "Packets to that address are dropped or lead elsewhere: let TCP pass on all ports "
           "between the nodes' addresses, or choose others. " +
           std::string(kChoose);
  if (seen.far == FarEnd::kRefuses)
    return "A host answers there, and nothing listens or a firewall rejects: let TCP pass on all "
           "ports; see that the rank there still lives, and that the address is that host's. " +
           std::string(kChoose);
  if (seen.far == FarEnd::kUnreachable) return remedy_of(Cause::kOobBlocked);
  return remedy_of(Cause::kInitStuck);
}

// Ranks have met there before.
bool is_closed(const Bootstrap& seen) { return seen.past && seen.far == FarEnd::kRefuses; }

bool is_unopened(const Bootstrap& seen) { return seen.error == EMFILE || seen.error == ENFILE; }

}  // namespace

std::string_view step_name(BootStep step) noexcept {
  return kSteps[static_cast<std::size_t>(step)];
}

std::string_view far_end_name(FarEnd end) noexcept {
  switch (end) {
    case FarEnd::kSilent:
      return "silent";
    case FarEnd::kRefuses:
      return "refused";
    case FarEnd::kUnreachable:
      return "unreachable";
    case FarEnd::kConnected:
      return "connected";
    case FarEnd::kUnknown:
      break;
  }
  return "";
}

bool is_blocked(const Bootstrap& seen) noexcept {
  if (is_closed(seen)) return false;
  // With an address that was given in advance ranks may come before the one that listens there.
  if (seen.far == FarEnd::kRefuses) return !(seen.id_given && seen.step == BootStep::kRoot);
  return seen.far == FarEnd::kSilent || seen.far == FarEnd::kUnreachable;
}

bool is_warning(const Bootstrap& seen) noexcept {
  return is_blocked(seen) || is_closed(seen) || (!seen.past && seen.sec >= kLateSec);
}

Diagnosis diagnose(const Bootstrap& seen) {
  std::string sentence;
  if (seen.call.empty())
    sentence = fmt::format("A communicator {} after {:.0f} s: ",
                           seen.past ? "waits for another rank" : "is still being made", seen.sec);
  else
    sentence = "A communicator can't be made: ";
  sentence += what_is_seen(seen) + apart(seen) + of_listener(seen) + '.';
  if (is_unopened(seen)) return by_default(Cause::kLimNoFile, sentence);
  if (is_closed(seen)) return by_default(Cause::kOobClosed, sentence);
  const Cause cause =
      is_blocked(seen) || !seen.call.empty() ? Cause::kOobBlocked : Cause::kInitStuck;
  return {cause, sentence, remedy(seen)};
}

Diagnosis closed_by(const std::string& listener) {
  return by_default(Cause::kOobClosed, listener +
                                           ", where another rank listened for NCCL, is closed: "
                                           "that rank ended, or its communicator was aborted.");
}

}  // namespace nnd::diagnosis
