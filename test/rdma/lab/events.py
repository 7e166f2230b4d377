"""Assertions on parsed events. Each names what it wanted and what there was."""
import datetime
import json


def of(events, name, **wanted):
    """Events of a name whose fields have these values; `dev` is a device's name."""

    def fits(event):
        if event["ev"] != name:
            return False
        return all((event.get("dev", {}).get("name") if key == "dev" else event.get(key)) == value
                   for key, value in wanted.items())

    return [event for event in events if fits(event)]


def transitions(events, to, failed=None):
    found = [event for event in of(events, "qp.transition") if event["qp"]["to"] == to]
    return [event for event in found if failed is None or (event["rc"] != 0) == failed]


def one_line(events):
    return "\n".join(json.dumps(event) for event in events) or "(none)"


def expect(condition, what, events=()):
    if not condition:
        raise AssertionError(f"{what}\n{one_line(events)}" if events else what)


def silent(rank):
    """Nothing is wrong and nothing is said to be."""
    loud = [event for event in rank.events() if event["sev"] != "info"]
    expect(not loud, f"{rank.name} warns although nothing is wrong", loud)


def timed(event):
    """The time is one of today's, and both clocks are there."""
    stamp = datetime.datetime.fromisoformat(event["ts"][:26].rstrip("Z") + "+00:00")
    now = datetime.datetime.now(datetime.timezone.utc)
    expect(abs((now - stamp).total_seconds()) < 3600 and event["mono_ns"] > 0, "the event's time is wrong", [event])


def sentence(event):
    expect(event.get("cause") and event.get("msg") and event.get("fix"), "no cause, sentence or remedy", [event])


def refused_rtr(rank, errno, dev, local, remote, port=1):
    """The first failed INIT to RTR of a connection: everything that is known of it, and told once. The event."""
    failed = transitions(rank.events(), "RTR", failed=True)
    expect(failed, f"{rank.name}: no failed RTR", transitions(rank.events(), "RTR"))
    first = failed[0]
    seen = {
        "errno": first["errno"], "dev": first["dev"]["name"], "port": first["dev"]["port"],
        "local": first["dev"].get("gid"), "remote": first.get("peer", {}).get("gid"), "attempt": first["qp"]["attempt"],
        "from": first["qp"]["from"], "conn": "conn" in first,
    }
    wanted = {"errno": errno, "dev": dev, "port": port, "local": local, "remote": remote, "attempt": 1, "from": "INIT",
              "conn": True}
    expect(seen == wanted, f"{rank.name}: wanted {wanted}, got {seen}", [first])
    expect(first["sev"] == "warn", "the first failed attempt is no warning", [first])
    sentence(first)
    timed(first)
    expect(all(event["sev"] == "info" for event in failed[1:]), "later attempts are told again", failed)
    attempts = [event["qp"]["attempt"] for event in failed if event["qp"]["num"] == first["qp"]["num"]]
    expect(attempts == sorted(set(attempts)), "attempts are not counted", failed)
    return first


EHOSTUNREACH = 113  # NCCL neither repeats it nor blames the GID index for it


def refused_pair(rank, rule, cause, dev, local, remote):
    """The policy refused the pair: one attempt, which the kernel and NCCL did not wait for, and its sentence. The refusal."""
    moves = transitions(rank.events(), "RTR")
    expect(len(moves) == 1 and moves[0]["errno"] == EHOSTUNREACH, "not one refusal", moves)
    expect(moves[0]["dur_us"] < 50_000, "it took as long as 50 ms", moves)
    refusals = of(rank.events(), "policy.refuse")
    expect(len(refusals) == 1 and refusals[0]["sev"] == "error", "not one rule", refusals)
    for event in (moves[0], refusals[0]):
        ends = (event["dev"]["name"], event["dev"]["port"], event["dev"].get("gid"), event["peer"]["gid"])
        expect(ends == (dev, 1, local, remote), f"wanted {dev} {local} and {remote}", [event])
    expect((refusals[0]["rule"], refusals[0]["cause"]) == (rule, cause), f"wanted {rule} {cause}", refusals)
    sentence(refusals[0])
    timed(refusals[0])
    return refusals[0]


def warned_pair(rank, rule, before):
    """The same rule where it only warns: told once, before the kernel's answer (`before`)."""
    warnings = [event for event in of(rank.events(), "policy.warn") if event["rule"] == rule]
    expect(len(warnings) == 1 and warnings[0]["sev"] == "warn", f"not one warning by {rule}", warnings)
    expect(warnings[0]["cause"] == before["cause"] and warnings[0]["mono_ns"] <= before["mono_ns"], "not before it", [*warnings, before])
    sentence(warnings[0])


def grown(event, dev):
    """By how much the counters of the device's port have grown: {name: by}."""
    found = [port["grown"] for port in event.get("counters", []) if (port["name"], port["port"]) == (dev, 1)]
    expect(len(found) == 1, f"no counters of {dev}", [event])
    return found[0]


def failed_completion(rank, status, dev):
    """The first failed completion, with this status (or one of these). The event."""
    found = of(rank.events(), "wc.error")
    expect(found, f"{rank.name}: no failed completion", rank.events()[-5:])
    first = found[0]
    expect(first["wc"]["status"] in (status if isinstance(status, tuple) else (status,)), f"{rank.name}: wanted status {status}", [first])
    expect(first["dev"]["name"] == dev and "conn" in first, f"{rank.name}: wanted device {dev}", [first])
    if first["wc"]["status"] == 12:
        # Read by another thread, and told with the failure's number; of a process that ends at once, in its summary.
        counted = [*of(rank.events(), "port.event", event="counters", failure=first["failure"]), *of(rank.events(), "summary")]
        expect(counted, "what the port counts was not told", [first])
        expect(grown(counted[0], dev).get("retry_exceeded_err", 0) > 0, "the port's counter of exceeded retries has not grown", counted)
    sentence(first)
    timed(first)
    return first
