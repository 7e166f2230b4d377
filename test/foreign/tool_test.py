#!/usr/bin/env python3
"""`nccl-net-diag report` over files of other programs, alone and beside event logs. tool_test.py TOOL WRITE_JOB SCHEMA"""
import contextlib
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("SKIPPED: no python3-jsonschema")
    sys.exit(77)

TOOL, WRITE_JOB, SCHEMA = sys.argv[1:4]
QP = ("[2026-11-24 08:30:00] node1:10:11 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, "
      "on dev mlx5_2:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.2.1, remote GID ::ffff:10.0.3.2\n")
WC = "[1,{0}]<stdout>:node{0}:10:11 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.9<41> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_4\n"
PORT = "node0:10:12 [0] NCCL WARN NET/IB : mlx5_4:1 Got async error event: port error\n"
CLOSED = "node0:10:11 [0] NCCL INFO socketProgress: Connection closed by remote peer node1<5>\n"
RANK = "node0:10:11 [0] NCCL INFO comm 0x1 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1000 commId 0x2 - Init START\n"
OOM = ("Memory cgroup out of memory: Killed process {} (python) total-vm:9kB, anon-rss:412000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 "
       "pgtables:1kB oom_score_adj:0\n")
BOOT = ("[    1.500000] mlx5_core 0000:41:00.0: firmware version: 28.39.1002\n[    9.250000] mlx5_core 0000:41:00.0 ens10np0: Link up\n"
        "[    9.500000] mlx5_core 0000:41:00.0: mlx5_pcie_event:299:(pid 1): Detected insufficient power on the PCIe slot (27W).\n")
NETWORK = "NCCL version 2.27.7+cuda12.9\nnode0:10:11 [0] NCCL INFO Using network IB\n"


class Others(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.dir = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.schema = json.loads(pathlib.Path(SCHEMA).read_text())

    def report(self, *args):
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
        return subprocess.run([TOOL, "report", *map(str, args)], capture_output=True, env=environment, check=False, text=True)

    def judged(self, text, code):
        (self.dir / "stdout.txt").write_text(text)
        done = self.report(self.dir, "--json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        jsonschema.validate(answer, self.schema)
        return answer

    def test_ras_and_what_it_adds_to_a_log(self):
        gone = {"rank": 3, "host": "10.0.0.9", "pid": 9, "status": {"unresponsive": True, "considered_dead": True}}
        status = {"nccl_version": "2.28.9", "timestamp": "2026-11-26 11:17:07", "communicators_count": 1,
                  "communicators": [{"hash": "0x1f", "size": 4, "ranks": [], "missing_ranks": [gone]}]}
        (self.dir / "ras.json").write_text(json.dumps(status))
        answer = self.judged("Epoch 1\n", 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "open"))
        self.assertEqual((answer["others"]["ras"]["kind"], answer["others"]["ras"]["ranks"]), ("dead", [3]))
        self.assertIn("rank 3 (10.0.0.9, pid 9) is dead to RAS", self.report(self.dir).stdout.splitlines()[0])
        answer = self.judged(QP, 1)
        self.assertEqual(answer["cause"], "QP-110")
        self.assertIn("NCCL's RAS: rank 3", self.report(self.dir).stdout)

    def test_inspector(self):
        def line(rank, us):
            return json.dumps({
                "header": {"id": "0x1f", "comm_name": "dp", "rank": rank, "n_ranks": 4, "nnodes": 2},
                "metadata": {"inspector_output_format_version": "v4.0", "hostname": "node1", "pid": 9},
                "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 1 << 26, "coll_exec_time_us": us,
                              "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 0, "coll_busbw_gbs": 0}}) + "\n"
        for rank in range(3):
            (self.dir / f"node1-pid{rank}.log").write_text(line(rank, 1000 * (rank + 1)) * 2)
        answer = self.judged("Epoch 1\n", 0)
        self.assertEqual((answer["kind"], answer["restart"]["domain"]), ("running", "nothing"))
        (one,) = answer["others"]["bandwidth"]
        self.assertEqual((one["communicator"], one["name"], one["ranks"], one["calls"]), ("0x1f", "dp", 3, 2))
        self.assertAlmostEqual(one["bus_gb_per_sec"], 1.5 * (1 << 26) / 2e6)
        self.assertIn("NCCL's Inspector: AllReduce of 67.1 MB to 134 MB in communicator dp of 4 ranks: 50.3 GB/s on the bus",
                      " ".join(self.report(self.dir).stdout.split()))

    def test_ranks_that_never_met(self):
        gone = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.\n"
        answer = self.judged(gone, 1)
        self.assertEqual((answer["cause"], answer["blame"], answer["restart"]["confidence"]), ("OOB-STORE", "open", "open"))
        # Who failed of something of its own did not come because of that.
        answer = self.judged(gone + self.traceback("[rank3]: ", "KeyError: 'labels'"), 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        route = ("torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (node0, 29500). The client "
                 "socket has failed to connect to 10.0.0.1:29500 (errno: 113 - No route to host).\n")
        self.assertEqual(self.judged(route, 1)["blame"], "network")
        taken = ("RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to "
                 "[::]:29500 (errno: 98 - Address already in use).\n")
        answer = self.judged(taken, 1)
        self.assertEqual((answer["cause"], answer["blame"]), ("OOB-PORT", "not the network"))
        self.assertIn("port 29500", answer["verdict"])

    def test_a_job_that_slurm_cancelled(self):
        line = "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-11-26T11:17:07 DUE TO {} ***\n"
        answer = self.judged("Epoch 1\n" + line.format("TIME LIMIT"), 0)
        self.assertEqual((answer["kind"], answer["blame"]), ("running", "nothing"))
        self.assertIn("Slurm cancelled the job at 2026-11-26T11:17:07: its time limit was over", answer["verdict"])
        answer = self.judged(line.format("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"), 1)
        self.assertEqual((answer["kind"], answer["blame"], answer["restart"]["domain"]), ("lost", "open", "node"))
        self.assertIn("a node of it failed", answer["verdict"])
        answer = self.judged(QP + line.format("TIME LIMIT"), 1)
        self.assertEqual(answer["cause"], "QP-110")
        self.assertIn("Cancelled: Slurm cancelled the job", self.report(self.dir).stdout)

    def test_what_to_restart_with(self):
        def restart(text):
            return self.judged(text, 1)["restart"]
        self.assertEqual(restart(QP), {"domain": "pair", "confidence": "likely", "retry": "unknown", "exclude": [],
                                       "suspects": [{"host": "node1", "device": "mlx5_2"}]})
        one = restart(WC.format(0))
        self.assertEqual((one["domain"], one["confidence"], one["exclude"]), ("pair", "open", []))
        one = restart(CLOSED + self.traceback("[rank3]: ", "KeyError: 'labels'"))
        self.assertEqual((one["domain"], one["confidence"], one["retry"]), ("process", "sure", "unknown"))

    def traceback(self, prefix, exception):
        lines = ["Traceback (most recent call last):", '  File "/home/me/train.py", line 212, in step', "    loss.backward()", exception]
        return "".join(f"{prefix}{line}\n" for line in lines)

    def test_standard_input(self):
        done = subprocess.run([TOOL, "report", "-", "--json"], capture_output=True, input="Epoch 1\n" + QP, check=False, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(json.loads(done.stdout)["cause"], "QP-110")

    def test_an_exception_in_the_output(self):
        own = self.traceback("[rank3]: ", "KeyError: 'labels'")
        answer = self.judged(own, 0)
        self.assertEqual((answer["kind"], answer["blame"]), ("running", "nothing"))
        self.assertIn("if that was not caught", " ".join(self.report(self.dir).stdout.split()))
        answer = self.judged(own + self.traceback("[rank1]: ", "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process "
                             "exited, NCCL version 2.27.7") + CLOSED, 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        self.assertEqual(answer["others"]["raised"]["ranks"], [3])
        self.assertIn("rank 3: KeyError", self.report(self.dir).stdout.splitlines()[0])
        self.assertEqual(self.judged(QP + own, 1)["cause"], "QP-110")
        self.assertEqual(self.judged(WC.format(0) + own, 1)["blame"], "open")
        late = "[E ProcessGroupNCCL.cpp:1] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=60000)\n"
        self.assertEqual(self.judged(own + late, 1)["blame"], "open")
        self.assertEqual(self.judged(own + late.replace("Rank 3", "Rank 1"), 1)["blame"], "not the network")

    def test_a_process_that_crashed(self):
        died = ("Root Cause (first observed failure):\n[0]:\n  time      : 2027-01-15_08:00:30\n  host      : node1\n"
                "  rank      : 11 (local_rank: 3)\n  exitcode  : -9 (pid: 1234)\n  error_file: <N/A>\n"
                "  traceback : Signal 9 (SIGKILL) received by PID 1234\n")
        answer = self.judged(died + CLOSED, 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        self.assertEqual((answer["others"]["ended"]["rank"], answer["others"]["ended"]["status"]), (11, -9))
        self.assertIn("rank 11 (node1 pid 1234) was killed (SIGKILL)", self.report(self.dir).stdout.splitlines()[0])
        late = "[E ProcessGroupNCCL.cpp:1] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=60000)\n"
        self.assertEqual(self.judged(late + died, 1)["blame"], "open")

    def test_ranks_that_wait_by_a_watchdog_that_names_no_group(self):
        line = ("[E ProcessGroupNCCL.cpp:475] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, "
                "NumelIn={}, NumelOut=8, Timeout(ms)=1800000) ran for 1800217 ms\n")
        answer = self.judged("".join(line.format(rank, 2, "ALLREDUCE", 1) for rank in (1, 2, 3)), 1)
        flight = answer["others"]["flight_recorder"]
        self.assertEqual((answer["blame"], flight["kind"], flight["ranks"], flight["waiting"]), ("open", "no-dump", [0], [1, 2, 3]))
        answer = self.judged("".join(line.format(rank, 31887, "_ALLGATHER_BASE", 64 if rank else 8) for rank in range(4)), 1)
        flight = answer["others"]["flight_recorder"]
        self.assertEqual((answer["blame"], flight["kind"], flight["ranks"]), ("not the network", "mismatched", [0]))
        self.assertEqual(self.judged(line.format(0, 5, "ALLGATHER", 1) + line.format(1, 5, "ALLREDUCE", 1), 1)["blame"], "open")

    def test_what_is_not_the_network(self):
        shm = "node0:10:11 [0] NCCL WARN Error while creating shared memory segment /dev/shm/nccl-1 (size 9), error: No space left on device (28)\n"
        for text, cause in ((shm, "LIM-SHM"), ("node0:10:11 [0] NCCL WARN Cuda failure 'out of memory'\n", "CUDA-FAIL"),
                            ("node0:10:11 [0] NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1a0\n", "DUP-GPU")):
            answer = self.judged(text + CLOSED, 1)
            self.assertEqual((answer["cause"], answer["blame"]), (cause, "not the network"))

    def test_what_is_no_trouble_as_long_as_all_is_well(self):
        bridge = "node0:10:11 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]veth1a:fe80::1%veth1a<0>\n"
        self.assertNotIn("veth1a", self.report_of(bridge + NETWORK))
        self.assertIn("veth1a", self.report_of(bridge + NETWORK + CLOSED))

    def report_of(self, text):
        (self.dir / "stdout.txt").write_text(text)
        return self.report(self.dir).stdout.split("\n\n")[0]

    def test_a_qp_that_was_not_moved(self):
        answer = self.judged("Epoch 1\n" + QP + CLOSED, 1)
        self.assertEqual((answer["kind"], answer["blame"], answer["cause"]), ("failed", "network", "QP-110"))
        first = answer["others"]["first"]
        self.assertEqual((first["device"], first["host"], first["line"]), ("mlx5_2:1", "node1", 2))
        text = self.report(self.dir).stdout
        self.assertIn("mlx5_2:1 of node1: QP-110", text)
        self.assertIn("What to do:", text)

    def test_no_answer_of_the_peer_is_open(self):
        answer = self.judged(NETWORK + WC.format(0) + WC.format(1), 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("open", "WC-12"))
        self.assertEqual((answer["others"]["releases"], answer["others"]["transports"]), (["2.27.7"], ["IB"]))

    def test_a_port_that_went_down_explains_it(self):
        answer = self.judged(PORT + WC.format(0), 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("network", "ASYNC-PORT"))
        self.assertEqual(answer["others"]["sign"]["device"], "mlx5_4:1")

    def test_an_echo_accuses_nobody(self):
        answer = self.judged(CLOSED, 1)
        self.assertEqual(answer["blame"], "open")
        self.assertNotIn("cause", answer)

    def test_the_log_names_no_device(self):
        self.judged("node1:10:11 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n", 1)
        self.assertIn("names no device", " ".join(self.report(self.dir).stdout.split()))

    def test_a_healthy_log_is_no_verdict(self):
        answer = self.judged(NETWORK, 0)
        self.assertEqual((answer["kind"], answer["blame"]), ("running", "nothing"))
        self.assertTrue(self.report(self.dir).stdout.startswith("nothing failed"))

    def test_nothing_of_anybody(self):
        (self.dir / "stdout.txt").write_text("Epoch 1\n")
        self.assertEqual(self.report(self.dir).returncode, 3)

    def dump(self, rank, done, last, kind="all_reduce"):
        """What rank `rank` leaves that was given `last` collectives, of which `done` have ended."""
        frames = [{"name": "all_reduce", "filename": "/x/torch/distributed/distributed_c10d.py", "line": 1},
                  {"name": "step", "filename": "/home/me/train.py", "line": 212}]
        entries = [{"frames": frames, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": seq, "is_p2p": False,
                    "profiling_name": f"nccl:{kind if seq == last else 'all_reduce'}", "time_created_ns": 10**18 + seq, "input_sizes": [[8, 4]],
                    "input_dtypes": ["Float"], "state": "completed" if seq <= done else "scheduled"} for seq in range(1, last + 1)]
        ranks = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
        (self.dir / f"trace_rank_{rank}").write_bytes(pickle.dumps({"version": "2.10", "pg_config": ranks, "entries": entries}, protocol=2 + rank % 3))

    def test_a_rank_that_is_behind_by_flight_recorder(self):
        for rank in range(4):
            self.dump(rank, 4, 4 if rank == 2 else 5)
        answer = self.judged("Epoch 1\n" + CLOSED, 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("hang", "not the network"))
        flight = answer["others"]["flight_recorder"]
        self.assertEqual((flight["kind"], flight["ranks"], flight["waiting"]), ("behind", [2], [0, 1, 3]))
        self.assertEqual(flight["call"]["called_at"], "train.py:212 in step")
        self.assertEqual(flight["call"]["sizes"], "[8, 4] Float")
        self.assertIn("rank 2 has not called all_reduce #5", " ".join(self.report(self.dir).stdout.split()))

    def test_a_rank_that_is_behind_by_its_watchdog(self):
        told = "[rank{0}]:[E1 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank {0}] PG status: last enqueued work: {1}, last completed work: 4\n"
        answer = self.judged("".join(told.format(rank, 4 if rank == 3 else 5) for rank in range(4)), 1)
        flight = answer["others"]["flight_recorder"]
        self.assertEqual((answer["blame"], flight["kind"], flight["ranks"]), ("not the network", "behind", [3]))
        self.assertEqual(flight["source"], "PyTorch's watchdog")

    def test_a_timeout_without_more_is_open(self):
        answer = self.judged("[rank0]:[E1 ProcessGroupNCCL.cpp:6] [TC][rank=0][name=0] timeout watchdog detected operation timeout\n", 1)
        self.assertEqual(answer["blame"], "open")
        self.assertIn("a collective timed out", answer["verdict"])
        for rank in (0, 1, 3):
            self.dump(rank, 4, 5)
        self.assertEqual(json.loads(self.report(self.dir, "--json").stdout)["others"]["flight_recorder"]["kind"], "no-dump")

    def test_another_collective_by_flight_recorder(self):
        for rank in range(4):
            self.dump(rank, 4, 5, "all_gather" if rank == 1 else "all_reduce")
        answer = self.judged(NETWORK, 1)
        self.assertEqual(answer["blame"], "not the network")
        self.assertIn("mismatched collectives in default_pg: rank 1 called all_gather #5", answer["verdict"])

    def test_a_missing_dump_is_open(self):
        for rank in (0, 1, 3):
            self.dump(rank, 4, 5)
        answer = self.judged(NETWORK, 1)
        self.assertEqual((answer["blame"], answer["others"]["flight_recorder"]["kind"]), ("open", "no-dump"))

    def test_a_failure_of_its_own_goes_before_flight_recorder(self):
        for rank in range(4):
            self.dump(rank, 4, 4 if rank == 2 else 5)
        answer = self.judged(QP, 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("network", "QP-110"))

    def test_a_pickle_that_asks_for_more_is_refused(self):
        (self.dir / "rank_0").write_bytes(pickle.dumps({"version": subprocess.run, "entries": []}, protocol=2))
        answer = self.judged(NETWORK, 0)
        self.assertIn("rank_0", answer["others"]["problems"][0])

    def keep(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def error(self, rank, text, at, line=212):
        stack = f'Traceback (most recent call last):\n  File "/home/me/train.py", line {line}, in step\n{text}\n'
        message = {"message": {"message": text, "extraInfo": {"py_callstack": stack, "timestamp": str(at)}}}
        self.keep(f"none_x/attempt_0/{rank}/error.json", json.dumps(message))

    def test_a_rank_that_the_kernel_killed(self):
        self.keep("dmesg-node0.txt", BOOT + "[  812.250000] " + OOM.format(10))
        answer = self.judged(RANK + WC.format(1), 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        self.assertNotIn("cause", answer)
        self.assertIn("rank 3 (node0) was killed by the kernel for lack of memory (python, pid 10, anon-rss 422 GB)", answer["verdict"])
        self.assertEqual(answer["others"]["killed"]["of_pid"], 10)
        self.assertIn("--mem", " ".join(self.report(self.dir).stdout.split()))

    def test_a_process_of_another_job_that_the_kernel_killed(self):
        self.keep("dmesg-node0.txt", "[  812.250000] " + OOM.format(99))
        answer = self.judged(RANK + WC.format(1), 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("open", "WC-12"))
        self.assertIn("Kernel's log: ", self.report(self.dir).stdout)

    def test_a_process_that_was_killed_at_some_time_proves_nothing(self):
        self.keep("dmesg-node0.txt", "[  812.250000] " + OOM.format(10))
        answer = self.judged(RANK, 0)
        self.assertEqual(answer["kind"], "running")
        self.assertIn("if that was then, it is why", answer["verdict"])

    def test_a_kernel_alone_judges_no_job(self):
        answer = self.judged("[  812.250000] " + OOM.format(99), 0)
        self.assertEqual((answer["kind"], answer["blame"]), ("running", "open"))
        self.assertIn("no word of a job", answer["verdict"])
        self.assertIn("Killed process 99", answer["verdict"])

    def test_ordinary_lines_of_a_kernel_change_nothing(self):
        alone = self.judged(NETWORK + WC.format(1), 1)
        self.keep("node0/dmesg", BOOT + "Nov 24 08:30:00 node0 kernel: eth0: link up\n")
        both = self.judged(NETWORK + WC.format(1), 1)
        self.assertEqual(alone["verdict"], both["verdict"])
        self.assertNotIn("kernel", both["others"])

    def test_an_exception_that_came_first(self):
        self.error(2, "RuntimeError: shapes differ", 101)
        self.error(0, "DistBackendError: NCCL error in: x.cpp:1", 101)
        self.error(1, "DistBackendError: NCCL error in: x.cpp:1", 102)
        answer = self.judged(NETWORK + WC.format(1), 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        self.assertIn("rank 2: RuntimeError: shapes differ, at train.py:212 in step", answer["verdict"])
        self.assertEqual(answer["others"]["raised"]["local_ranks"], [2])

    def test_an_exception_of_a_worker_that_was_killed(self):
        self.error(2, "RuntimeError: DataLoader worker (pid 99) is killed by signal: Killed. ", 101)
        self.keep("dmesg.txt", "[  812.250000] " + OOM.format(99))
        self.assertIn("that worker was killed by the kernel for lack of memory", self.judged(NETWORK, 1)["verdict"])

    def test_exceptions_that_only_echo(self):
        for rank in range(4):
            self.error(rank, "DistBackendError: NCCL error in: x.cpp:1", 101)
        answer = self.judged(NETWORK + WC.format(1), 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("open", "WC-12"))
        self.assertIn("DistBackendError", self.report(self.dir).stdout)

    def test_a_damaged_error_file_costs_no_other(self):
        self.keep("none_x/attempt_0/1/error.json", '{"message": {"message": "RuntimeError')
        self.keep("none_x/attempt_0/2/error.json", '{"message": ' + "[" * 100000)
        self.assertEqual(self.judged(QP, 1)["cause"], "QP-110")

    def test_flight_recorder_as_json(self):
        for rank in range(4):
            entries = [{"collective_seq_id": seq, "is_p2p": False, "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce",
                        "time_created_ns": 10**18 + seq, "input_sizes": [[8, 4]], "input_dtypes": ["Float"],
                        "state": "completed" if seq < 5 else "scheduled"} for seq in range(1, 5 if rank == 2 else 6)]
            ranks = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
            self.keep(f"trace_rank_{rank}.json", json.dumps({"version": "2.10", "pg_config": ranks, "entries": entries}, sort_keys=True))
        answer = self.judged(NETWORK, 1)
        flight = answer["others"]["flight_recorder"]
        self.assertEqual((answer["blame"], flight["kind"], flight["ranks"]), ("not the network", "behind", [2]))

    def page(self, text, code, name="stdout.txt"):
        """The page's source, the rows of its tables by their ids."""
        (self.dir / name).write_text(text)
        done = self.report(self.dir / name, "--html", self.dir / "page.html")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        html = (self.dir / "page.html").read_text()
        tables = re.findall(r'<div class="data" id="(\w+)">.*?<script type="application/json">(.*?)</script>', html, re.DOTALL)
        return html, {key: json.loads(rows) for key, rows in tables}

    def test_a_page(self):
        html, tables = self.page(NETWORK + RANK + CLOSED + QP, 1)
        self.assertRegex(html, r'<h1 class="bad">not fine: |<h1 class="bad">mlx5_2:1 of node1: QP-110')
        self.assertIn("2 processes on 2 hosts; NCCL 2.27.7; over IB; 1 file of other programs, and no event log", html)
        self.assertRegex(html, r"<dt>What to do</dt><dd>[^<]*</dd>\n<dt>To start it again</dt><dd>It reaches [^<]*\(likely\)\.")
        first, second = tables["lines"]
        self.assertEqual(first[:4], ["what it failed of", "node1 pid 10", "mlx5_2:1 of node1", "QP-110"])
        self.assertTrue(first[6].endswith("stdout.txt:5"), first)
        self.assertEqual((second[0], second[1]), ("echo", "node0 pid 10"))
        self.assertEqual([row[1] for row in tables["files"]], ["read"])

    def test_a_page_of_ranks_that_wait(self):
        line = ("[rank{0}]:[E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(dp) Rank {0}] Exception (either an error or timeout) detected by watchdog at "
                "work: 5, last enqueued NCCL work: {1}, last completed NCCL work: 4.\n")
        html, tables = self.page("".join(line.format(rank, 4 if rank == 2 else 5) for rank in range(4)), 1)
        self.assertIn("rank 2 has not called", html)
        self.assertEqual([(row[0], row[1], row[2], row[4]) for row in tables["calls"]],
                         [(str(rank), "dp", f"collective #{4 if rank == 2 else 5}", "-" if rank == 2 else "collective #5") for rank in range(4)])

    def test_a_page_of_hostile_lines(self):
        evil = "</script><img src=x onerror=alert(1)><b>&\x1b[31m"
        html, tables = self.page(QP.replace("mlx5_2:1", evil) + self.traceback("[rank3]: ", f"KeyError: '{evil}'"), 1, "a<b>.txt")
        for raw in ("<img", "<b>", "\x1b"):
            self.assertNotIn(raw, html)
        self.assertIn("</script><img src=x onerror=alert(1)>", tables["lines"][0][4])
        self.assertIn("a<b>.txt", tables["files"][0][0])
        self.assertEqual(html.count("<script>"), 1)

    def test_a_page_of_a_job_that_nothing_tells_against(self):
        html, tables = self.page(NETWORK, 0)
        self.assertIn('<h1 class="good">', html)
        self.assertNotIn("lines", tables)
        self.assertIn('<h1 class="warn">', self.page(self.traceback("", "KeyError: 'x'"), 0)[0])
        (self.dir / "none").mkdir()
        self.assertEqual(self.report(self.dir / "stdout.txt", "--html", self.dir / "none" / "x" / "page").returncode, 2)

    def test_no_trace_without_event_logs(self):
        (self.dir / "stdout.txt").write_text(QP)
        done = self.report(self.dir, "--perfetto", self.dir / "trace.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--perfetto", done.stderr + done.stdout)

    def test_a_worker_of_a_data_loader(self):
        killed = "[rank3]: RuntimeError: DataLoader worker (pid 99) is killed by signal: {}. \n"
        answer = self.judged(CLOSED + killed.format("Killed"), 1)
        self.assertEqual((answer["kind"], answer["blame"]), ("lost", "not the network"))
        self.assertIn("a data loader's worker of rank 3 (pid 99) was killed (SIGKILL)", answer["verdict"])
        self.judged(killed.format("Bus error"), 1)
        self.assertIn("What to do: df /dev/shm on that node", self.report(self.dir).stdout)
        # A traceback says whose exception it became, and where.
        answer = self.judged(CLOSED + self.traceback("[rank3]: ", "RuntimeError: DataLoader worker (pid 99) is killed by signal: Killed. "), 1)
        self.assertIn("rank 3: RuntimeError: DataLoader worker", answer["verdict"])
        self.assertNotIn("ended", answer["others"])
        # Whoever is ended with its job is asked to.
        self.assertEqual(self.judged(CLOSED + killed.format("Terminated"), 1)["blame"], "open")
        self.keep("dmesg.txt", "[  812.250000] " + OOM.format(99))
        self.assertIn("it was killed by the kernel for lack of memory", self.judged(killed.format("Killed"), 1)["verdict"])

    def test_gloo(self):
        failed = ("[rank8]: RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:152] timed out "
                  "connecting: SO_ERROR: {}, remote=[{}]:22914\n")
        for error, address, blame, cause in (("Connection refused", "127.0.0.1", "open", "DEV-OOB"), ("No route to host", "10.0.0.2", "network", "DEV-OOB"),
                                             ("Connection refused", "10.0.0.2", "open", None)):
            answer = self.judged(failed.format(error, address), 1)
            self.assertEqual((answer["blame"], answer.get("cause")), (blame, cause))
            self.assertIn(f"towards {address}" if cause else error, answer["verdict"])
        # A program's own exception explains a peer that is gone.
        answer = self.judged(failed.format("Connection refused", "10.0.0.2") + self.traceback("[rank3]: ", "KeyError: 'labels'"), 1)
        self.assertEqual(answer["blame"], "not the network")

    def test_an_iommu_that_refuses_memory(self):
        path = ("node0:10:11 [0] NCCL INFO NET/IB: [0] mlx5_4:uverbs4:1/RoCE provider=Mlx5 speed=400000 context=0x1 "
                "pciPath=/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0 ar=0\n")
        wc = "[2026-11-24 08:30:00] " + WC.replace("status=12", "status=4").format(0).removeprefix("[1,0]<stdout>:")
        self.keep("node0/dmesg", "[Tue Nov 24 08:29:58 2026] mlx5_core 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0021 "
                  "address=0x7f1020 flags=0x0020]\n")
        answer = self.judged(path + wc, 1)
        self.assertEqual((answer["blame"], answer["cause"]), ("network", "GDR-ACS"))
        self.assertEqual((answer["others"]["sign"]["pci"], answer["others"]["first"]["cause"]), ("0000:41:00.0", "WC-4"))
        self.assertIn("GDR-ACS", answer["verdict"])
        self.keep("node0/dmesg", "[Tue Nov 24 08:29:58 2026] DMAR: [DMA Write NO_PASID] Request device [c1:00.0] fault addr 0x7f1020 [fault reason 0x05] x\n")
        self.assertEqual(self.judged(path + wc, 1)["cause"], "WC-4")

    def beside(self, fault, text):
        logs = self.dir / fault
        subprocess.run([WRITE_JOB, logs, "16", fault, "3"], check=True, capture_output=True)
        alone = json.loads(self.report(logs, "--json").stdout)
        (logs / "stdout.txt").write_text(text)
        both = json.loads(self.report(logs, "--json").stdout)
        jsonschema.validate(both, self.schema)
        for key in ("verdict", "kind", "blame", "cause", "exit_code"):
            self.assertEqual(alone.get(key), both.get(key), key)
        return " ".join(line for part in both["words"] if part["title"] == "Other logs" for line in part["lines"])

    def with_kernel(self, fault, line_of, pid_off=0):
        """The report of an event-logged job with rank 9 gone at 08:00:30 on node1, whose kernel's log is beside it."""
        logs = self.dir / fault
        subprocess.run([WRITE_JOB, logs, "16", fault, "3"], check=True, capture_output=True)
        alone = json.loads(self.report(logs, "--json").stdout)
        gone = [one for one in alone["processes"] if one["rank"] == 9][0]
        (logs / "kernel.log").write_text(line_of(gone["host"]) + OOM.format(gone["pid"] + pid_off))
        both = json.loads(self.report(logs, "--json").stdout)
        jsonschema.validate(both, self.schema)
        return alone, both

    def test_the_kernel_says_why_a_rank_died(self):
        for time in ("2027-01-15T08:00:31+00:00 {} kernel: ", "Jan 15 08:00:31 {} kernel: ", "Jan 15 13:30:31 {} kernel: "):
            _, both = self.with_kernel("rank-died", time.format)
            self.assertEqual((both["kind"], both["blame"]), ("lost", "not the network"))
            self.assertIn("rank 9 (node1) was killed by the kernel for lack of memory", both["verdict"])
            self.assertEqual(both["kernel"][0]["host"], "node1")

    def test_a_kernel_that_tells_of_others_changes_no_verdict(self):
        for time, off in (("2027-01-15T08:00:31+00:00 {} kernel: ", 5000), ("2027-01-11T08:00:31+00:00 {} kernel: ", 0),
                          ("2027-01-15T08:00:31+00:00 x{} kernel: ", 0)):
            for fault in ("rank-died", "none"):
                alone, both = self.with_kernel(fault, time.format, off)
                self.assertEqual(alone["verdict"], both["verdict"])
                self.assertEqual("kernel" in both, (fault, off) == ("rank-died", 5000))
                self.assertNotIn("pid", (both.get("kernel") or [{}])[0])

    def test_event_logs_come_first(self):
        self.assertIn("come first", self.beside("memlock", QP))

    def test_where_event_logs_leave_it_open_others_decide(self):
        own = self.traceback("[rank9]: ", "KeyError: 'labels'") + self.traceback(
            "[rank1]: ", "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited, NCCL version 2.27.7") + CLOSED
        logs = self.dir / "rank-missing"
        subprocess.run([WRITE_JOB, logs, "16", "rank-missing", "3"], check=True, capture_output=True)
        alone = json.loads(self.report(logs, "--json").stdout)
        self.assertEqual((alone["kind"], alone["blame"]), ("missing", "open"))
        (logs / "stdout.txt").write_text(own)
        both = json.loads(self.report(logs, "--json").stdout)
        jsonschema.validate(both, self.schema)
        self.assertEqual((both["blame"], both["exit_code"]), ("not the network", 1))
        self.assertIn("rank 9: KeyError", both["verdict"])
        words = {part["title"]: part["lines"] for part in both["words"]}
        self.assertEqual(words["Event logs"], [alone["verdict"]])
        # A failure of the network that they tell is not outdone.
        self.beside("memlock", own)

    def test_a_contradiction_is_said(self):
        self.assertIn("contradicts", self.beside("none", QP))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
