"""A connection that works: what its log must hold, and that nothing else is said."""
from lab import fabric
from lab.events import expect, grown, of, silent, timed, transitions

# Retransmissions are none: rxe's packets get lost and come twice when the machine is slow.
TROUBLE = {"retry_exceeded_err", "retry_rnr_exceeded_err", "send_err", "link_downed"}


def check_transitions(rank, device, local, peer, subnet):
    """Every QP of the rank went INIT, RTR, RTS, and the log knows between whom."""
    events = rank.events()
    moves = [event for event in of(events, "qp.transition") if event["qp"]["to"] != "RESET"]
    qps = {event["qp"]["num"] for event in moves}
    expect(qps, f"{rank.name} made no QP", events[-3:])
    for number in qps:
        path = [event for event in moves if event["qp"]["num"] == number]
        expect([event["qp"]["to"] for event in path] == ["INIT", "RTR", "RTS"], "not INIT, RTR, RTS", path)
        expect(all(event["rc"] == 0 for event in path), "a transition failed", path)
    netdev = fabric.HCAS[device][0]
    for event in transitions(events, "RTR"):
        expect(event["dev"]["name"] == device and event["dev"]["port"] == 1, "wrong device or port", [event])
        remote = event["peer"]["gid"]
        # NCCL's QPs for flushes connect a port to itself.
        expect(remote in (fabric.gid_text(peer), fabric.gid_text(local)), "wrong peer", [event])
        expect(event["dev"]["gid"] == fabric.gid_text(local) and event["dev"]["subnet"] == subnet, "wrong GID", [event])
        expect(event["dev"]["netdev"] == netdev and event["peer"]["subnet"] == subnet, "wrong netdev or subnet", [event])
        timed(event)


def check_counters(rank, device):
    """Packets went both ways, and nothing was counted that is trouble."""
    summary = of(rank.events(), "summary")
    expect(len(summary) == 1, f"{rank.name}: no summary")
    counts = grown(summary[0], device)
    expect(counts.get("sent_pkts", 0) > 0 and counts.get("rcvd_pkts", 0) > 0, "no packets counted", summary)
    expect(not TROUBLE & set(counts), "trouble counted although nothing is wrong", summary)


def works(lab, first, second, subnet, environment=None, **more):
    """Opens, moves verified data, closes and ends; then looks at both logs."""
    connection = lab.connected(first, second, environment, **more)
    expect(connection.move(sizes=[1 << 20, 100, 0, 65536], repeat=4) == 4 * ((1 << 20) + 100 + 65536), "bytes are missing")
    connection.finish()
    addresses = [fabric.HCAS[device][1].split("/")[0] for device in (first, second)]
    check_transitions(connection.sender, first, addresses[0], addresses[1], subnet)
    check_transitions(connection.receiver, second, addresses[1], addresses[0], subnet)
    for rank, device, direction in ((connection.sender, first, "send"), (connection.receiver, second, "recv")):
        silent(rank)
        closed = of(rank.events(), "conn.close", dir=direction)
        expect(closed and closed[0]["failed"] == 0 and closed[0]["completed"] == 16, "wrong totals", closed)
        check_counters(rank, device)
