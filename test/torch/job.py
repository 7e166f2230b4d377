"""A training job in small on stock PyTorch, healthy or with one fault: job.py JOB

The rank that does something wrong is NND_GUILTY, the last one by default; what each job is and who is to blame: jobs.py.
"""
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

if sys.argv[1].startswith("training"):  # its imports take seconds
    import training

JOB = sys.argv[1]
ME = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
GUILTY = ME == int(os.environ.get("NND_GUILTY", RANKS - 1))
FIRST_TRY = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
# Before a wait is told for the first time, and after that, in all of which run_ahead does its 150 on a busy machine.
WATCHDOG_SEC = 6 if JOB == "short_watchdog" else 13 * max(1, RANKS // 4) if JOB == "run_ahead" else 13
COUNT = 1 << 16


def begin(**where):
    torch.cuda.set_device(0 if JOB == "one_gpu" and GUILTY else int(os.environ["LOCAL_RANK"]))
    if JOB in ("groups", "one_gpu"):  # what split_group needs; else PyTorch goes by LOCAL_RANK
        where["device_id"] = torch.device("cuda", torch.cuda.current_device())
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=120), **where)


def filled(value, count=COUNT, dtype=torch.float32):
    """On the GPU, without a kernel of torch's: copied from the CPU."""
    return torch.full((count,), value, dtype=dtype).cuda()


def expect(tensor, value, what):
    torch.cuda.synchronize()
    here = tensor.cpu()
    assert bool((here == torch.tensor(value, dtype=here.dtype)).all()), f"{what}: {here[:4].tolist()} is not {value}"


def step():
    data = filled(ME + 1)
    dist.all_reduce(data)
    expect(data, RANKS * (RANKS + 1) // 2, "all_reduce")


def steps(count=5):
    step()  # which connects all
    if JOB in SHORT:
        dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=WATCHDOG_SEC))
    for _ in range(count - 1):
        step()


def stay_away():
    time.sleep(300)  # the launcher ends it long before


def all_kinds():
    everyone = RANKS * (RANKS + 1) // 2
    for dtype in (torch.uint8, torch.int32, torch.float32, torch.bfloat16):
        data = filled(ME + 1, dtype=dtype)
        dist.all_reduce(data)
        expect(data, everyone, f"all_reduce of {dtype}")
    gathered = filled(0, COUNT * RANKS)
    dist.all_gather_into_tensor(gathered, filled(ME + 1))
    for rank, part in enumerate(gathered.chunk(RANKS)):
        expect(part, rank + 1, "all_gather_into_tensor")
    scattered = filled(0)
    dist.reduce_scatter_tensor(scattered, filled(ME + 1, COUNT * RANKS))
    expect(scattered, everyone, "reduce_scatter_tensor")
    exchanged = filled(0, COUNT * RANKS)
    dist.all_to_all_single(exchanged, filled(ME + 1, COUNT * RANKS))
    for rank, part in enumerate(exchanged.chunk(RANKS)):
        expect(part, rank + 1, "all_to_all_single")
    data = filled(ME + 1)
    dist.broadcast(data, 0)
    expect(data, 1, "broadcast")
    received = filled(0)
    if ME == 0:
        dist.send(filled(7), 1)
    elif ME == 1:
        dist.recv(received, 0)
        expect(received, 7, "send and recv")
    following, previous = (ME + 1) % RANKS, (ME - 1) % RANKS
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, filled(ME + 1), following),
                                        dist.P2POp(dist.irecv, received, previous)]):
        work.wait()
    expect(received, previous + 1, "batch_isend_irecv")
    started = [(value, filled(value)) for value in range(1, 9)]
    works = [dist.all_reduce(data, async_op=True) for _, data in started]
    for work in works:
        work.wait()
    for value, data in started:
        expect(data, value * RANKS, "async all_reduce")
    other = dist.new_group(list(range(RANKS)), group_desc="other")
    data = filled(ME + 1)
    dist.all_reduce(data, group=other)
    expect(data, everyone, "all_reduce of another group")
    dist.barrier()


def coalesced():
    data = [filled(ME + value) for value in range(4)]
    with dist._coalescing_manager(device=torch.device("cuda"), async_ops=True) as manager:
        for one in data:
            dist.all_reduce(one)
    manager.wait()
    for value, one in enumerate(data):
        expect(one, RANKS * (RANKS - 1) // 2 + RANKS * value, "coalesced all_reduce")


def ahead_on_a_stream():
    """The CPU is far ahead of the GPU, whose second stream waits for the first."""
    second = torch.cuda.Stream()
    data = filled(1)
    for _ in range(20):
        dist.all_reduce(data, op=dist.ReduceOp.MAX, async_op=True).wait()  # of the stream, not of the CPU
    second.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(second):
        dist.all_reduce(data)
    torch.cuda.current_stream().wait_stream(second)
    expect(data, RANKS, "all_reduce on a second stream")


def split_in_two():
    """Each half by ncclCommSplit, and the whole again."""
    half = dist.split_group(split_ranks=[list(range(RANKS // 2)), list(range(RANKS // 2, RANKS))], group_desc="half")
    low = ME < RANKS // 2
    data = filled(ME + 1)
    dist.all_reduce(data, group=half)
    expect(data, sum(range(1, RANKS // 2 + 1) if low else range(RANKS // 2 + 1, RANKS + 1)), "all_reduce of a half")
    step()


def mesh_of_two():
    """Rows and columns of 2 x (RANKS / 2)."""
    from torch.distributed.device_mesh import init_device_mesh
    width = RANKS // 2
    mesh = init_device_mesh("cuda", (2, width), mesh_dim_names=("replicate", "shard"))
    row, column = divmod(ME, width)
    data = filled(ME + 1)
    dist.all_reduce(data, group=mesh.get_group("shard"))
    expect(data, sum(row * width + i + 1 for i in range(width)), "all_reduce of a row")
    gathered = filled(0, COUNT * 2)
    dist.all_gather_into_tensor(gathered, filled(ME + 1), group=mesh.get_group("replicate"))
    for i, part in enumerate(gathered.chunk(2)):
        expect(part, i * width + column + 1, "all_gather_into_tensor of a column")


def mismatch(theirs, ours):
    """The guilty one calls something else; whoever is done then meets the others, who are not."""
    steps()
    (theirs if GUILTY else ours)()
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()


def healthy():
    all_kinds()
    coalesced()
    ahead_on_a_stream()
    steps(20)


def groups():
    split_in_two()
    mesh_of_two()
    steps()


def raise_before_init():
    pass  # handled before begin()


def missing_rank():
    pass


def data_loader():
    steps()
    if GUILTY:
        stay_away()
    step()


def raise_between_steps():
    steps()
    if GUILTY:
        raise RuntimeError("bad batch")
    step()


def raise_in_collective():
    steps()
    data = filled(1)
    dist.all_reduce(data.cpu() if GUILTY else data)  # nccl takes no tensor of the CPU's
    torch.cuda.synchronize()


def system_exit():
    steps()
    if GUILTY:
        sys.exit(3)
    step()


def killed(number):
    steps()
    if GUILTY:
        os.kill(os.getpid(), number)
    step()


def run_ahead():
    steps()
    data = filled(1, 1 << 10)
    for i in range(200):
        if GUILTY and i == 150:
            torch.cuda.synchronize()
            stay_away()
        dist.all_reduce(data, async_op=True)
    torch.cuda.synchronize()


def wrong_group():
    steps()
    other = dist.new_group(list(range(RANKS)))
    data = filled(1)
    dist.all_reduce(data, group=other if GUILTY else None)
    torch.cuda.synchronize()


def abort_and_init_again():
    steps()
    from torch.distributed.distributed_c10d import _abort_process_group, _get_default_store
    store = dist.PrefixStore("again", _get_default_store())  # the first one still holds the first group's id
    _abort_process_group()
    begin(store=store, rank=ME, world_size=RANKS)
    steps()


def restart():
    steps()
    if GUILTY and FIRST_TRY:
        raise RuntimeError("bad batch")
    steps()


def out_of_memory_in_backward(step):
    if GUILTY and step == 2:
        torch.cuda.synchronize()
        os.kill(os.getpid(), signal.SIGKILL)


JOBS = {
    "healthy": healthy,
    "training": lambda: training.training(),
    "training_killed": lambda: training.training(out_of_memory_in_backward),
    "groups": groups,
    "steps": lambda: steps(40),
    "raise_before_init": raise_before_init,
    "missing_rank": missing_rank,
    "data_loader": data_loader,
    "short_watchdog": data_loader,
    "blocking_wait": data_loader,
    "raise_between_steps": raise_between_steps,
    "raise_in_collective": raise_in_collective,
    "system_exit": system_exit,
    "segmentation_fault": lambda: killed(signal.SIGSEGV),
    "out_of_memory": lambda: killed(signal.SIGKILL),
    "wrong_collective": lambda: mismatch(lambda: dist.all_gather_into_tensor(filled(0, COUNT * 64 * RANKS), filled(1, COUNT * 64)),
                                         lambda: dist.all_reduce(filled(1))),
    "wrong_shape": lambda: mismatch(lambda: dist.all_reduce(filled(1, COUNT * 64)), lambda: dist.all_reduce(filled(1))),
    "wrong_dtype": lambda: mismatch(lambda: dist.all_reduce(filled(1, COUNT * 64, torch.float32)),
                                    lambda: dist.all_reduce(filled(1, COUNT * 64, torch.uint8))),
    "wrong_order": lambda: mismatch(lambda: (dist.broadcast(filled(1), 0), dist.all_reduce(filled(1, COUNT * 64))),
                                    lambda: (dist.all_reduce(filled(1, COUNT * 64)), dist.broadcast(filled(1), 0))),
    "wrong_group": wrong_group,
    "run_ahead": run_ahead,
    "abort_and_init_again": abort_and_init_again,
    "restart": restart,
    "one_gpu": step,
}
# Where somebody has to stop waiting for the job to end.
SHORT = {"data_loader", "short_watchdog", "blocking_wait", "run_ahead", "wrong_collective", "wrong_shape", "wrong_dtype", "wrong_order", "wrong_group"}

if JOB == "raise_before_init" and GUILTY:
    raise RuntimeError("no checkpoint")
begin()
if JOB == "missing_rank" and GUILTY:
    stay_away()
if JOB in ("raise_before_init", "missing_rank"):
    step()
JOBS[JOB]()
groups = sorted(set(dist.distributed_c10d._world.pg_names.values()))
dist.destroy_process_group()
os.write(1, f"rank {ME}: all data right, groups {' '.join(groups)}\n".encode())  # in one piece: all ranks write there
