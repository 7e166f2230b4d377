#!/usr/bin/env bash
# A check for node-problem-detector (custom plugin) and NHC: one line, the verdict first, and the exit code: 0 fine, also with
# warnings, which the line names; 1 a fault; 2 unknown, the node could not be examined. node-problem-detector cuts the line after
# 80 characters unless max_output_length says more. Nagios reads 1 as a warning and 2 as critical: map them there.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
found=$("$TOOL" check --json ${NND_EXPECT_HCAS:+--expect-hcas "$NND_EXPECT_HCAS"})
code=$?
[ -n "$found" ] || { echo "$TOOL gave no answer (exit code $code)"; exit 2; }
printf '%s' "$found" | python3 -c '
import json, sys
try:
    found = json.load(sys.stdin)
    if "error" in found:
        print(found["verdict"].splitlines()[0])
        sys.exit(2)
    facts = [v["fact"] for v in found["verdicts"] if v["decision"] != "info"]
    facts += ["%s: %s" % (l["variable"], l["msg"]) for l in found["lint"]]
    print(" | ".join([found["verdict"]] + facts))
except (ValueError, KeyError) as wrong:
    print("the answer of nccl-net-diag check is unknown here: %r" % wrong)
    sys.exit(2)
sys.exit({0: 0, 1: 1}.get(found["exit_code"], 2))'
