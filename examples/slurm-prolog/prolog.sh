#!/usr/bin/env bash
# Slurm prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/*): before a job, does this node have the HCAs that it should have?
# A prolog that fails drains the node and requeues the job. What was found is kept for whoever looks at the node.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
EXPECTED=${NND_EXPECT_HCAS:-8}
LOG=${NND_CHECK_LOG:-/var/log/nccl-net-diag-check.json}

# A prolog has slurmd's environment, not the job's: node facts are judged here, not the user's variables.
"$TOOL" check --json --expect-hcas "$EXPECTED" >"$LOG"
case $? in
  0) exit 0 ;;
  1) logger -t nccl-net-diag "HCAs refused, missing or broken: see $LOG"; exit 1 ;;
  # A wrong policy file or call is the cluster's mistake: it must not drain every node.
  2) logger -t nccl-net-diag "wrong call or policy file: see $LOG"; exit 0 ;;
  *) logger -t nccl-net-diag "could not examine this node: see $LOG"; exit 1 ;;
esac
