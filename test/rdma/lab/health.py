"""A connection that works: what its log must hold, and that nothing else is said."""
from lab import fabric
from lab.events import expect, of, silent, timed, transitions


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


def works(lab, first, second, subnet, environment=None, **more):
    """Opens, moves verified data, closes and ends; then looks at both logs."""
    connection = lab.connected(first, second, environment, **more)
    expect(connection.move(sizes=[1 << 20, 100, 0, 65536], repeat=4) == 4 * ((1 << 20) + 100 + 65536), "bytes are missing")
    connection.finish()
    addresses = [fabric.HCAS[device][1].split("/")[0] for device in (first, second)]
    check_transitions(connection.sender, first, addresses[0], addresses[1], subnet)
    check_transitions(connection.receiver, second, addresses[1], addresses[0], subnet)
    for rank, bytes_moved in ((connection.sender, "send"), (connection.receiver, "recv")):
        silent(rank)
        closed = of(rank.events(), "conn.close", dir=bytes_moved)
        expect(closed and closed[0]["failed"] == 0 and closed[0]["completed"] == 16, "wrong totals", closed)
        expect(len(of(rank.events(), "summary")) == 1, "no summary")
