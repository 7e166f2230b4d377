"""The other machine's end. The last file of hosts.py: there is no other machine after it."""
from lab.agent import Peer
from lab.events import expect, failed_completion
from lab.scenario import scenario
from lab.traffic import GIVES_UP, IN_FLIGHT, wait_sent
from lab.two import connected


@scenario
def power_off(lab):
    """the other machine loses its power under traffic: status 12 with its address, and no other trouble is claimed"""
    # Half a second between the retries: a slow machine is not one that is off.
    connection, _, there = connected(lab, "mlx5_0", {**GIVES_UP, "NCCL_IB_TIMEOUT": "17"})
    connection.move()
    connection.start_traffic(**IN_FLIGHT)
    wait_sent("mlx5_0", 100)
    Peer.current.power_off()
    connection.traffic_fails()
    error = failed_completion(connection.sender, 12, "mlx5_0")
    expect(error["peer"]["gid"] == f"::ffff:{there}" and error["dev"]["port"] == 1, "another peer or port", [error])
    expect(error["wc"]["history"] == "worked, then died", "wrong history", [error])
    # That it gives up so soon is a warning of its own.
    loud = [event for event in connection.sender.events() if event["sev"] != "info" and event["ev"] != "env.lint"]
    expect([(event["ev"], event["cause"]) for event in loud] == [("wc.error", "WC-12"), ("conn.fail", "WC-12")],
           "it claims more than it can know", loud)
