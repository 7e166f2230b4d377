"""What works, and that nothing is said then."""
from lab import fabric
from lab.events import expect, of, silent, transitions
from lab.health import check_counters, works
from lab.scenario import scenario


@scenario
def rails(lab):
    """two HCAs of one rail: verified data, every QP INIT RTR RTS, no warning"""
    works(lab, "mlx5_0", "mlx5_2", "10.1.0.0/24")


@scenario
def bonds(lab):
    """two active-backup bonds: the same"""
    works(lab, "mlx5_bond_0", "mlx5_bond_1", "10.2.0.0/24")


@scenario
def routed_rails(lab):
    """two rails with a router between them: the same"""
    near, far = lab.router()
    for netdev, to, gateway in (("a0", "10.1.1.0/24", near), ("b1", "10.1.0.0/24", far)):
        route = f"{to} via {gateway} dev {netdev} table {fabric.table_of(netdev)}"
        lab.change([f"route add {route}"], [f"route del {route}"])
        fabric.greet(netdev, gateway)
    connection = lab.pair("mlx5_0", "mlx5_3").open()
    expect(connection.move(sizes=[1 << 20, 100], repeat=4) == 4 * ((1 << 20) + 100), "bytes are missing")
    connection.finish()
    for rank, device, subnet in ((connection.sender, "mlx5_0", "10.1.0.0/24"), (connection.receiver, "mlx5_3", "10.1.1.0/24")):
        silent(rank)
        check_counters(rank, device)
        expect({event["dev"]["subnet"] for event in transitions(rank.events(), "RTR")} == {subnet}, "another subnet", rank.events()[-3:])
        expect(of(rank.events(), "conn.close")[0]["failed"] == 0, "requests failed")
