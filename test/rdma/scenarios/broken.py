"""Negative controls: each of these must be reported as failed (see controls_test.py)."""
from lab.events import expect, failed_completion, of, refused_rtr, silent
from lab.scenario import scenario


@scenario
def a_fault_is_not_silent(lab):
    """a refused connection whose logs are said to be silent"""
    connection = lab.pair("mlx5_0", "mlx5_bond_1")
    connection.refused()
    silent(connection.receiver)


@scenario
def another_errno(lab):
    """a refusal with another errno than the kernel's"""
    connection = lab.pair("mlx5_3", "mlx5_0")
    connection.refused()
    refused_rtr(connection.receiver, 101, "mlx5_0", "::ffff:10.1.0.1", "::ffff:10.1.1.2")


@scenario
def no_such_events(lab):
    """events of faults in the log of a connection that works"""
    connection = lab.connected("mlx5_0", "mlx5_2")
    for missing in (lambda: refused_rtr(connection.receiver, 110, "mlx5_2", "::ffff:10.1.0.2", "::ffff:10.1.0.1"),
                    lambda: failed_completion(connection.sender, 12, "mlx5_0"),
                    lambda: expect(of(connection.sender.events(), "port.event"), "no port event")):
        try:
            missing()
        except AssertionError:
            continue
        return
    raise AssertionError("none of the three is there")


@scenario
def a_rank_dies(lab):
    """a rank that is gone before its time"""
    connection = lab.connected("mlx5_0", "mlx5_2")
    connection.start_traffic()
    connection.receiver.kill()
    connection.finish_traffic()
