#include "diagnosis/environment.h"

#include <fmt/format.h>

namespace nnd::diagnosis {

namespace {

std::string write_signs(const std::vector<std::string>& meant) {
  if (meant.empty()) return "Write them once, at the start.";
  if (meant.size() == 1) return "Write " + meant[0] + ".";
  return fmt::format("Write {}, or {} for all but that.", meant[0], meant[1]);
}

}  // namespace

Diagnosis diagnose(const HcaEntryFault& seen) {
  using Kind = HcaEntryFault::Kind;
  switch (seen.kind) {
    case Kind::kSigns:
      return {Cause::kDevPrefix,
              fmt::format("NCCL reads ^ and = once, at the start of the list, ^ first: in \"{}\" "
                          "they are part of the name.",
                          seen.entry),
              write_signs(seen.meant)};
    case Kind::kSpace:
      return {Cause::kDevPrefix, fmt::format("A space is part of the name \"{}\".", seen.entry),
              "Write the list without spaces."};
    case Kind::kMatchesMore:
      return {Cause::kDevPrefix,
              fmt::format("\"{}\" also matches {}: names are prefixes.", seen.entry,
                          fmt::join(seen.more, ", ")),
              seen.meant.empty() ? "Start the list with = (^= to leave out), and write whole names."
                                 : fmt::format("Write {} to match whole names.", seen.meant[0])};
    case Kind::kNoSuchPort:
      return {Cause::kDevPrefix,
              fmt::format("\"{}\" matches no HCA port of this node: there {} {}.", seen.entry,
                          seen.more.size() == 1 ? "is" : "are", fmt::join(seen.more, ", ")),
              "Write the HCA's name alone, or with one of its ports."};
    case Kind::kMatchesNothing:
      break;
  }
  return {Cause::kDevPrefix, fmt::format("\"{}\" matches no HCA of this node.", seen.entry),
          fmt::format("The HCAs here are {}.", fmt::join(seen.here, ", "))};
}

Diagnosis diagnose(const MisspeltVariable& seen) {
  return {Cause::kEnvTypo, "NCCL knows no variable " + seen.name + ", and does not read it.",
          "Did you mean " + seen.nearest + "?"};
}

Diagnosis diagnose(const UnreadValue& seen) {
  using Kind = UnreadValue::Kind;
  switch (seen.kind) {
    case Kind::kCut:
      return {Cause::kEnvTypo,
              fmt::format("The field has {}: {} becomes {}.", seen.words, seen.value, seen.read_as),
              "Unset it, or use a value of that range."};
    case Kind::kNoWord:
      return {Cause::kEnvTypo,
              fmt::format("\"{}\" is none of {}: NCCL ignores it.", seen.value, seen.words),
              "Unset it, or use one of these."};
    case Kind::kNothingLeft:
      return {Cause::kEnvTypo, "No connection gets a QP with 0 of them.", "Unset it."};
    case Kind::kNoNumber:
      break;
  }
  return {Cause::kEnvTypo,
          fmt::format("\"{}\" is no number: NCCL {}.", seen.value,
                      seen.read_as.empty() ? "ignores it" : "reads " + seen.read_as),
          "Unset it, or give it a number."};
}

Diagnosis diagnose(const TrafficClassAsked& seen) {
  return {Cause::kRoceTc,
          fmt::format(
              "By {} of this environment, QPs ask for traffic class {}, and the policy asks for "
              "{}: it refuses each of them in enforce mode.",
              seen.variable, seen.asked, seen.wanted),
          fmt::format("Set {}={} on every node.", seen.variable, seen.wanted)};
}

Diagnosis diagnose(const OtherTransport& seen) {
  const std::string hcas =
      fmt::format("this node's {} HCA{}", seen.hcas, seen.hcas == 1 ? "" : "s");
  if (seen.kind == OtherTransport::Kind::kNet)
    return {
        Cause::kDevPlugin,
        fmt::format("NCCL takes a transport of the name \"{}\" alone: a plugin has to bring it, "
                    "else NCCL's init fails; its own IB leaves {} unused.",
                    seen.name, hcas),
        "Unset it to use the HCAs."};
  return {
      Cause::kDevPlugin,
      fmt::format("NCCL loads the net plugin \"{}\" before its own transport: what it does with {} "
                  "is that plugin's, and nccl-net-diag sees it only where it wraps it.",
                  seen.name, hcas),
      "NCCL_NET_PLUGIN=diag wraps NCCL's own transport, or that plugin where NCCL_NET_DIAG_INNER "
      "names it."};
}

Diagnosis diagnose(const BadGidIndex& seen) {
  return {Cause::kGidWrong,
          seen.unfit ? fmt::format("At this index {} has a link-local or RoCE v1 GID, and a better "
                                   "one elsewhere.",
                                   seen.ports)
                     : fmt::format("There is no GID at this index on {}.", seen.ports),
          "Unset it: NCCL finds a good GID by itself from 2.21 on."};
}

Diagnosis diagnose(const RetransmitFault& seen) {
  using Kind = RetransmitFault::Kind;
  static constexpr const char* kTimeout = "Unset it, or use 18 to 23.";
  switch (seen.kind) {
    case Kind::kRetryField:
      return {Cause::kLinkFlap,
              fmt::format("The field has three bits: {} becomes {} on mlx5.", seen.value,
                          seen.value & 7),
              "NCCL_IB_RETRY_CNT=7 at most; raise NCCL_IB_TIMEOUT to wait longer."};
    case Kind::kTimeoutField:
      return {Cause::kLinkFlap,
              fmt::format("The field has five bits: {} becomes {}.", seen.value, seen.value & 31),
              kTimeout};
    case Kind::kForEver:
      return {Cause::kLinkFlap, "0 means to wait for ever: a dead peer is never noticed.",
              kTimeout};
    case Kind::kShort:
      break;
  }
  return by_default(
      Cause::kLinkFlap,
      fmt::format("Retransmissions end after {:.1f} s: a short flap of a link fails the job.",
                  seen.seconds));
}

Diagnosis diagnose(const LongQpRetries& seen) {
  if (seen.all)
    return {Cause::kQpRetry,
            fmt::format("Every failure to connect a QP is retried for {:.0f} s, refusals too.",
                        seen.seconds),
            "Unset it."};
  return by_default(
      Cause::kQpRetry,
      fmt::format("A QP that can't be connected is retried for {:.0f} s before NCCL says so.",
                  seen.seconds));
}

Diagnosis diagnose(const SocketInterface& seen) {
  using Kind = SocketInterface::Kind;
  const auto out = [](std::string sentence) {
    return Diagnosis{Cause::kDevOob, std::move(sentence),
                     "Name the interface that joins the nodes in NCCL_SOCKET_IFNAME."};
  };
  switch (seen.kind) {
    case Kind::kForContainers:
      return out(fmt::format("{} is a container, bridge or VPN interface: peers may not reach it.",
                             seen.netdev));
    case Kind::kPickedForContainers:
      return out(
          fmt::format("Not set, and ranks will meet by {} ({}), a container, bridge or VPN "
                      "interface: peers may not reach it.",
                      seen.netdev, seen.address));
    case Kind::kNoneHere:
      break;
  }
  return out("None of these interfaces is here.");
}

Diagnosis diagnose(const RdmaTurnedOff& seen) {
  return {Cause::kDevFallback,
          fmt::format("NCCL runs over TCP although this node has {} HCA{}.", seen.hcas,
                      seen.hcas == 1 ? "" : "s"),
          "Unset it."};
}

Diagnosis diagnose(const GpuDirectTurnedOff& seen) {
  return by_default(
      Cause::kGdrOff,
      seen.dmabuf
          ? "DMA-BUF is this node's only way for GPUDirect RDMA, and it is off."
          : "GPUDirect RDMA is off, and this node could do it: GPU memory goes through the host.");
}

Diagnosis diagnose(const FlushTurnedOff&) {
  return {Cause::kGdrRo,
          "NCCL does not flush what the HCA wrote to GPU memory: the GPU may read data that is not "
          "there yet.",
          "Unset NCCL_GDR_FLUSH_DISABLE."};
}

Diagnosis diagnose(const ForbiddenFusion& seen) {
  return {Cause::kDevMerge,
          fmt::format("This NCCL fuses {} and {}, ports of one card, and its init fails or crashes "
                      "where its transport may not.",
                      seen.device, seen.other),
          "NCCL_NET_MERGE_LEVEL=LOC"};
}

Diagnosis diagnose(const NoRefCount&) {
  return {Cause::kDevPlugin,
          "This NCCL forgets the plugin after its last communicator, and loads another one next.",
          "NCCL_NET_PLUGIN_REF_COUNT=1"};
}

Diagnosis diagnose(const MissingFromProcess& seen) {
  return by_default(
      Cause::kIncEnv,
      fmt::format("{} is set for the container's first process and not for this one.", seen.name));
}

Diagnosis diagnose(const OverriddenFile& seen) {
  return by_default(Cause::kEnvOverride, fmt::format("{} says {}, the environment overrides it.",
                                                     seen.file, seen.value));
}

}  // namespace nnd::diagnosis
