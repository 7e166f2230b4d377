"""What works, and that nothing is said then."""
from lab.events import refused_rtr, silent
from lab.health import works
from lab.scenario import scenario


@scenario
def rails(lab):
    """two HCAs of one rail: verified data, every QP INIT RTR RTS, no warning"""
    works(lab, "mlx5_0", "mlx5_2", "10.1.0.0/24")


@scenario
def bonds(lab):
    """two active-backup bonds: the same"""
    works(lab, "mlx5_bond_0", "mlx5_bond_1", "10.2.0.0/24")


@scenario(must_fail=True)
def silence_is_noticed_when_broken(lab):
    """negative control: a fault is not silent"""
    connection = lab.pair("mlx5_0", "mlx5_bond_1")
    connection.refused()
    silent(connection.receiver)


@scenario(must_fail=True)
def health_is_no_refusal(lab):
    """negative control: a healthy connection has no refused RTR"""
    connection = lab.connected("mlx5_0", "mlx5_2")
    refused_rtr(connection.receiver, 110, "mlx5_2", "::ffff:10.1.0.2", "::ffff:10.1.0.1")
