#!/usr/bin/env bash
# Slurm's epilog (slurm.conf: Epilog=/etc/slurm/epilog.d/*): the verdict of a job that failed, also where its own script could
# not report, since the node went or the time was up. It is left beside the logs of examples/slurm/job.sbatch, as the job's
# user, and its first line in the syslog. A node whose epilog fails is drained: this one never does.
set -u
export PATH=/opt/nccl-net-diag/bin:$PATH
logs=${SLURM_JOB_WORK_DIR:-}/nccl-net-diag/${SLURM_JOB_ID:-}
[ "${SLURM_JOB_EXIT_CODE2:-0:0}" != 0:0 ] || exit 0
# Once: on the first node of "gpu[3-7,9],login1".
first=${SLURM_NODELIST%%,*}
case $first in *\[*)
  number=${first#*\[}
  first=${first%%\[*}${number%%[-\]]*} ;;
esac
[ "${SLURMD_NODENAME:-$first}" = "$first" ] || exit 0
sleep 3 # the other nodes' processes end as well
# shellcheck disable=SC2016 # the user's shell expands it
said=$(runuser -u "$SLURM_JOB_USER" -- timeout 120 sh -c '
  [ -d "$0" ] || exit 0
  nccl-net-diag report "$0" >"$0/report.txt"
  head -n 1 "$0/report.txt"' "$logs" 2>&1)
[ -z "$said" ] || logger -t nccl-net-diag "job $SLURM_JOB_ID: $said" 2>/dev/null
exit 0
