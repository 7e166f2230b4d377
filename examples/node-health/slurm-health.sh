#!/usr/bin/env bash
# Slurm's health check (slurm.conf: HealthCheckProgram=/opt/nccl-net-diag/slurm-health.sh, HealthCheckInterval=300,
# HealthCheckNodeState=ANY): drains a node whose HCAs are sick, with the cause as its reason in `sinfo -R`, and resumes it when
# they are well again. A node that somebody else drained stays as it is, and so does one that could not be examined.
set -u
HERE=$(dirname "$(readlink -f "$0")")
MARK="nccl-net-diag:"
node=${SLURMD_NODENAME:-$(hostname -s)}

said=$("${CHECK_HCAS:-$HERE/check-hcas.sh}")
sick=$?
IFS='|' read -r state reason < <(sinfo --noheader --nodes="$node" --format='%T|%E') || exit 0
case $sick in
  1)
    case $state in drain*) exit 0 ;; esac
    scontrol update NodeName="$node" State=DRAIN Reason="$MARK ${said:0:160}"
    ;;
  0)
    case $state/$reason in drain*/"$MARK"*) scontrol update NodeName="$node" State=RESUME ;; esac
    ;;
  *) logger -t nccl-net-diag "could not examine this node: $said" 2>/dev/null || true ;;
esac
