#!/usr/bin/env bash
# A check for a node-health framework (node-problem-detector custom plugin, NHC, Nagios): one line, and an exit code that
# such frameworks know: 0 fine, 1 a warning, 2 a fault, 3 unknown.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
found=$("$TOOL" check --json ${NND_EXPECT_HCAS:+--expect-hcas "$NND_EXPECT_HCAS"})
code=$?
[ -n "$found" ] || { echo "$TOOL gave no answer (exit code $code)"; exit 3; }
printf '%s' "$found" | python3 -c '
import json, sys
found = json.load(sys.stdin)
if "error" in found:
    print(found["verdict"].splitlines()[0])
    sys.exit(3)
facts = [v["fact"] for v in found["verdicts"] if v["decision"] != "info"]
facts += ["%s: %s" % (l["variable"], l["msg"]) for l in found["lint"]]
print(" | ".join([found["verdict"]] + facts))
result = found["result"]
sys.exit(2 if found["exit_code"] == 1 else 1 if result["warnings"] or result["refused"] else 0)'
