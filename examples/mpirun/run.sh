#!/usr/bin/env bash
# mpirun only passes on the variables named with -x. One that is set on some nodes only is a fault of its own (INC-ENV).
set -euo pipefail
export PATH=/opt/nccl-net-diag/bin:$PATH
LOGS=${LOGS:-/shared/logs} # a directory that all nodes share
status=0
mpirun --hostfile hosts -N 8 \
  -x NCCL_NET_PLUGIN=diag \
  -x NCCL_NET_PLUGIN_REF_COUNT=1 \
  -x LD_LIBRARY_PATH="/opt/nccl-net-diag/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  -x NCCL_NET_DIAG_FILE="$LOGS/%j/%h.%p.jsonl" \
  ./all_reduce_perf -b 8 -e 8G -f 2 -g 1 || status=$?
# One verdict of all ranks, where the job failed.
if [ "$status" -ne 0 ]; then
  nccl-net-diag report "$LOGS" || true
fi
exit "$status"
