#!/usr/bin/env bash
# torchrun on every node; the variables reach the ranks because torchrun passes its environment on.
set -euo pipefail
# usage: run.sh [TRAINING-SCRIPT [ARGS]], with NNODES and HEAD (the first node's name) set
LOGS=${LOGS:-/shared/logs}              # a directory that all nodes share
[ $# -gt 0 ] || set -- train.py
export NCCL_NET_PLUGIN=diag             # loads libnccl-net-diag.so from the library path
export NCCL_NET_PLUGIN_REF_COUNT=1      # 2.28.3-2.29.7 would otherwise lose the plugin after the last communicator
export LD_LIBRARY_PATH=/opt/nccl-net-diag/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export NCCL_NET_DIAG_FILE="$LOGS/%j/%h.%p.jsonl"
trap : TERM                             # where a launcher ends all nodes, the verdict comes after torchrun's end
status=0
torchrun --nnodes="$NNODES" --nproc-per-node="${NPROC_PER_NODE:-8}" --rdzv-backend=c10d --rdzv-endpoint="$HEAD:29500" "$@" || status=$?
# One verdict of all ranks, where the job failed: on the node that the others meet at.
if [ "$status" -ne 0 ] && [ "$(hostname)" = "$HEAD" ]; then
  nccl-net-diag report "$LOGS" || true
fi
exit "$status"
