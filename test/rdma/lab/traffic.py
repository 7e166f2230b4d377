"""Traffic that faults meet."""
from lab.events import of
from lab.shell import read, wait_for

# rxe never gives up with NCCL's own 7; 14 is 67 ms between the retries.
GIVES_UP = {"NCCL_IB_RETRY_CNT": "6", "NCCL_IB_TIMEOUT": "14"}
ENDLESS = dict(sizes=[1 << 16], repeat=1000000, deadline_ms=600000)
# One message lasts for seconds, so that something is in flight when its peer ends. A sender that only waits for its peer's "clear to
# send" gets no completion, and no error.
IN_FLIGHT = dict(sizes=[1 << 24], repeat=100, deadline_ms=600000)


def wait_event(rank, what, **wanted):
    return wait_for(f"{what} {wanted} of {rank.name}", lambda: of(rank.events(), what, **wanted))[0]


def wait_sent(device, more):
    """Waits until the device has sent more packets: traffic is flowing."""
    counter = f"/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts"
    before = int(read(counter))
    wait_for(f"packets of {device}", lambda: int(read(counter)) >= before + more)
