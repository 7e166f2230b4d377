"""What is expected of each job of job.py: written from what the job does, and not from what report says of it.

The guilty one is the last rank, or NND_GUILTY's. blame and guilty are those of report's headline; a word of `words` is to be in it.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Job:
    story: str
    good: bool = False  # exit code 0, all data right, nothing found
    survives: bool = False  # exit code 0 and all data right, in spite of it
    blame: str = "not the network"
    guilty: bool = True  # the guilty rank is the first that the headline names
    words: tuple = ()  # one of them is in the headline
    both: tuple = ()  # of both sides, patterns, and all of them are in it
    least_ranks: int = 2
    most_ranks: int = 16
    may_be_open: bool = False  # the guilty one left no log, so that nothing acquits the network
    scenario: str = "two-nodes-8-hca-bond"
    torchrun: tuple = ()
    example: bool = False  # started by examples/torchrun/run.sh
    environment: dict = dataclasses.field(default_factory=dict)
    flight_recorder: bool = False  # the watchdog leaves its dump
    deadline: int = 0  # seconds, and 8 for each rank's start, after which the user gives up; 0: the job ends by itself


# Of several nodes: those whose worker hasn't failed count their tries from 0, and would find the last try's keys in a shared store.
APART = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
ELASTIC = ("--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:{port}", "--max-restarts=1")
WATCHDOG = dict(flight_recorder=True)

JOBS = {
    "healthy": Job("every kind of communication of a training step", good=True),
    "training": Job("DDP, FSDP and FSDP2 train a small model as the CPU does", good=True),
    "training_killed": Job("SIGKILL to the last rank in a step's backward", words=("died", "killed")),
    "groups": Job("a process group is split in two, and a mesh of 2 x 2", good=True, least_ranks=4),
    "abort_and_init_again": Job("all ranks abort their process group and make a new one", good=True),
    "data_loader": Job("the last rank hangs in its data loader; the watchdog of the others ends them",
                       words=("did not", "never", "has not", "late", "waits", "not called", "not come", "asked the network for nothing"), **WATCHDOG),
    "short_watchdog": Job("the same, and the watchdog comes before the plugin tells of a wait",
                          words=("did not", "never", "has not", "late", "waits", "not called", "not come", "no further",
                                 "asked the network for nothing"), **WATCHDOG),
    "blocking_wait": Job("the same with TORCH_NCCL_BLOCKING_WAIT: the others get an exception",
                         environment={"TORCH_NCCL_BLOCKING_WAIT": "1"}),
    "raise_before_init": Job("a Python exception in the last rank before it uses NCCL", words=("missing", "never", "not come", "has not", "no log"), may_be_open=True),
    "missing_rank": Job("the last rank never makes its communicator", deadline=30,
                        words=("missing", "never", "not come", "has not", "no log"), may_be_open=True),
    "raise_between_steps": Job("a Python exception in the last rank between two steps",
                               words=("ended", "exited", "left")),
    "raise_in_collective": Job("a Python exception in the last rank out of a collective's call", words=("ended", "exited", "left")),
    "system_exit": Job("sys.exit(3) in the last rank between two steps", words=("ended", "exited", "left")),
    "segmentation_fault": Job("a segmentation fault in the last rank", words=("died", "killed", "crash")),
    "out_of_memory": Job("SIGKILL to the last rank, as the OOM killer does it", words=("died", "killed")),
    "one_gpu": Job("the last rank takes the GPU of its neighbour", least_ranks=4, guilty=False, words=("one GPU",)),
    "wrong_collective": Job("the last rank calls all_gather where the others call all_reduce", guilty=False, both=("AllReduce", "AllGather"), **WATCHDOG),
    "wrong_shape": Job("the last rank reduces more elements than the others", guilty=False, both=("262144 bytes|256 KiB", "16777216 bytes|16 MiB"), **WATCHDOG),
    "wrong_dtype": Job("the last rank reduces float32 where the others reduce uint8", guilty=False, both=("[Uu]int8|4194304 bytes|4 MiB", "[Ff]loat32|16777216 bytes|16 MiB"), **WATCHDOG),
    "wrong_order": Job("the last rank calls two collectives in the other order", guilty=False, both=("AllReduce", "Broadcast"), **WATCHDOG),
    "wrong_group": Job("the last rank calls the collective in another process group", guilty=False, words=("not come", "came no further", "each other", "makes", "asked the network for nothing"), **WATCHDOG),
    "run_ahead": Job("200 collectives are called ahead; the last rank stops after 150", **WATCHDOG),
    "restart": Job("an exception in the last rank, then torchrun's restart, which is healthy", torchrun=ELASTIC, environment=APART, guilty=False,
                   survives=True),
    "example": Job("examples/torchrun/run.sh as it stands", good=True, example=True),
    "example_fails": Job("the same, where the last rank calls sys.exit(3)", example=True, words=("ended", "exited", "left")),
    "link_drop": Job("a port loses its link for two seconds, which is less than NCCL is patient", survives=True, scenario="link-drop", blame="network", guilty=False),
    "swapped_rails": Job("one node has the rails of two HCAs swapped", scenario="test/torch/scenarios/swapped-rails.toml",
                         environment={"NCCL_IB_MQP_RETRY_CNT": "1"}, blame="network", guilty=False, words=("swapped",)),
    "black_hole": Job("in the middle the network carries nothing any more", scenario="test/torch/scenarios/black-hole.toml",
                      environment={"NCCL_IB_TIMEOUT": "17"}, blame="network", guilty=False,
                      words=("WC-12", "HANG-DATA", "does not move")),
    "front_end_bond": Job("a bond that reaches no peer", scenario="front-end-bond", most_ranks=2, blame="network", guilty=False),
}
