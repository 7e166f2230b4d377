#!/usr/bin/env bash
# Slurm prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/*): before a job, are this node's HCAs as they should be?
# A prolog that fails drains the node and requeues the job. So it fails for what is wrong with the node, and for nothing
# else: not for a missing tool, a wrong policy file or a full disk. The result is kept for whoever looks at the node.
# NND_EXPECT_HCAS: how many HCAs every node that runs this has. Left out where nodes differ (login, CPU nodes): then a node
# without RDMA hardware is fine, and one that has it must be able to use it.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
LOG=${NND_CHECK_LOG:-/var/log/nccl-net-diag-check.json}

say() { logger -t nccl-net-diag "$1" 2>/dev/null || echo "nccl-net-diag: $1" >&2; }

# A prolog has slurmd's environment, not the job's: node facts are judged here, not the user's variables.
found=$("$TOOL" check --json ${NND_EXPECT_HCAS:+--expect-hcas "$NND_EXPECT_HCAS"})
code=$?
{ printf '%s\n' "$found" >"$LOG"; } 2>/dev/null || say "can't write $LOG"
case $code in
  0) exit 0 ;;
  1) say "HCAs are missing or broken: see $LOG"; exit 1 ;;
  2) say "wrong call or policy file: see $LOG"; exit 0 ;;
  *) say "could not examine this node (exit code $code): see $LOG"; exit 0 ;;
esac
