#!/usr/bin/env bash
# Slurm task prolog (slurm.conf: TaskProlog=...): runs in the job's own environment; lines "print ..." go to the job's
# output, "export NAME=value" into its environment. Prints the verdict where something is wrong, and leaves out HCAs that
# don't belong to the compute network.
TOOL=${NND_TOOL:-nccl-net-diag}
# Every task gets the variable; one task of a node says what is wrong.
page=$("$TOOL" check --fail-on warn) || [ "${SLURM_LOCALID:-0}" != 0 ] || printf '%s\n' "$page" | sed -n -e '1s/^/print /p' -e '/^Broken rules/,$s/^/print /p'
# The user's own list is not touched. Slurm takes what follows "=" as it is, without a shell's quotes.
[ -n "${NCCL_IB_HCA:-}" ] || printf '%s\n' "$page" | sed -n "s/^ *\(export NCCL_IB_HCA=\)'\{0,1\}\([^']*\)'\{0,1\}\$/\1\2/p"
exit 0
