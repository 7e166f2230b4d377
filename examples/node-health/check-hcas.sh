#!/usr/bin/env bash
# Are this node's HCAs well? One line, the causes first, and an exit code: 0 well, also with warnings, which the line names;
# 1 sick; 2 unknown, the node could not be examined. For node-problem-detector as it stands; the other files here call it.
# NND_SICK: which causes make a node sick, beside having no usable HCA. By default what is wrong with its own hardware: a link
# that is down, or slower than its siblings, where a GPU has its rail. A warning about how a node is set up drains no node.
# NND_EXPECT_HCAS: fewer usable HCAs are sick as well. Left out where nodes differ: a node without RDMA and GPUs is well.
# Nagios reads 1 as a warning and 2 as critical: map them there.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
found=$("$TOOL" check --json ${NND_EXPECT_HCAS:+--expect-hcas "$NND_EXPECT_HCAS"})
code=$?
[ -n "$found" ] || { echo "$TOOL gave no answer (exit code $code)"; exit 2; }
printf '%s' "$found" | NND_SICK=${NND_SICK-DEV-DOWN DEV-SLOW DEV-SILENT DEV-UNUSABLE IB-NOSM} python3 -c '
import json, os, sys
try:
    found = json.load(sys.stdin)
    if "error" in found:
        print(found["verdict"].splitlines()[0])
        sys.exit(2)
    told = [v for v in found["verdicts"] if v["decision"] != "info"]
    sick = [v for v in told if v["cause"] in os.environ["NND_SICK"].split()]
    line = ["%s: %s" % (v["cause"], v["fact"]) for v in sick] + [found["verdict"]]
    line += ["%s: %s" % (v["cause"], v["fact"]) for v in told if v not in sick]
    print(" | ".join(line + ["%s: %s" % (l["variable"], l["msg"]) for l in found["lint"]]))
except (ValueError, KeyError) as wrong:
    print("the answer of nccl-net-diag check is unknown here: %r" % wrong)
    sys.exit(2)
sys.exit(1 if sick and found["exit_code"] == 0 else {0: 0, 1: 1}.get(found["exit_code"], 2))'
