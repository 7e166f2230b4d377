#!/usr/bin/env bash
# A check for a node-health framework (node-problem-detector custom plugin, NHC, Nagios): one line, and an exit code that
# such frameworks know: 0 fine, 1 a warning, 2 a fault, 3 unknown.
set -u
TOOL=${NND_TOOL:-nccl-net-diag}
result=$("$TOOL" check --json ${NND_EXPECT_HCAS:+--expect-hcas "$NND_EXPECT_HCAS"})
code=$?
line=$(printf '%s' "$result" | python3 -c '
import json, sys
found = json.load(sys.stdin)
if "error" in found:
    print(found["error"].splitlines()[0])
else:
    result = found["result"]
    facts = result["broken"] + [v["fact"] for v in found["verdicts"] if v["decision"] != "info"]
    facts += ["%s: %s" % (l["variable"], l["msg"]) for l in found["lint"]]
    print(" | ".join([result["text"]] + facts))
    sys.exit(10 if result["warnings"] else 0)')
warned=$?
echo "$line"
case $code in
  0) [ "$warned" = 10 ] && exit 1; exit 0 ;;
  1) exit 2 ;;
  *) exit 3 ;;
esac
