// Catalogue: NCCL's results, GPUDirect, limits, what differs between nodes, waiting, and this
// library's own. Included by catalogue.cc only.
#pragma once

#include "diagnosis/catalogue.h"

namespace nnd::diagnosis::catalogue {

using nccl_net_diag::EventId;

inline constexpr std::string_view kReadBoth =
    "Compare with the peer's log (same link), and with NCCL's own lines at NCCL_DEBUG=INFO.";

inline constexpr Explanation kRc1{
    "A CUDA call inside NCCL's transport failed.",
    "A call of the transport returned 1, and no verb failed inside it.", kReadBoth,
    EventId::kConnFail, "The transport's regMr returned 1 after 20 ms."};
inline constexpr Explanation kRc2{
    "A system call or a socket of NCCL's transport failed: mostly the TCP connection that the two "
    "ends set up their QPs over.",
    "A call of the transport returned 2, and no verb failed inside it.", kReadBoth,
    EventId::kConnFail, "The transport's accept returned 2 after 512 ms."};
inline constexpr Explanation kRc3{
    "NCCL's transport met what it doesn't expect, such as a peer whose devices don't fit its own.",
    "A call of the transport returned 3, and no verb failed inside it.", kReadBoth,
    EventId::kConnFail, "The transport's connect returned 3 after 2 ms."};
inline constexpr Explanation kRc4{
    "NCCL's transport got an argument that it rejects.",
    "A call of the transport returned 4, and no verb failed inside it.", kReadBoth,
    EventId::kConnFail, "The transport's isend returned 4 after 9000 ms."};
inline constexpr Explanation kRc5{
    "NCCL's transport was used in a way that it doesn't allow.",
    "A call of the transport returned 5, and no verb failed inside it.", kReadBoth,
    EventId::kConnFail, "The transport's connect returned 5 after 1 ms."};
inline constexpr Explanation kRc6{
    "The other end is gone: its process ended, or closed the connection.",
    "A call of the transport returned 6, and neither a verb nor a completion failed inside it.",
    "Read the peer's log first (same link): it failed, or was ended, before this process noticed.",
    EventId::kConnFail, "The transport's test returned 6 after 81000 ms."};
inline constexpr Explanation kRcOther{
    "NCCL's transport returned a result that this library has no name for.",
    "The event's field rc has the number.", kReadBoth, EventId::kConnFail,
    "The transport's connect returned 9 after 1 ms."};

inline constexpr Explanation kGdrNoMod{
    "GPU memory can't be given to the HCA directly: neither nvidia-peermem nor DMA-BUF. All data "
    "goes "
    "through host memory, at a fraction of the bandwidth.",
    "The files that NCCL looks at for peermem, and the HCA's answer to NCCL's DMA-BUF test, where "
    "a "
    "GPU driver is loaded; or the policy asks for a way that is not there.",
    "Load nvidia_peermem, or use the open GPU driver on kernel 5.12 or newer.",
    EventId::kPolicyWarn,
    "mlx5_3:1: no GPUDirect RDMA, GPU memory goes through the host: nvidia_peermem is not loaded."};
inline constexpr Explanation kGdrOff{
    "GPUDirect RDMA would work and a variable keeps NCCL from it; mostly it was set once to get "
    "round "
    "a fault.",
    "NCCL_NET_GDR_LEVEL is LOC or 0; or NCCL_DMABUF_ENABLE=0 where DMA-BUF is the only way.",
    "Unset it.", EventId::kEnvLint,
    "GPUDirect RDMA is off, and this node could do it: GPU memory goes through the host."};
inline constexpr Explanation kGdrRegFail{
    "GPUDirect RDMA seemed possible, and registering GPU memory failed: peermem is loaded and not "
    "bound to the RDMA stack, the memory is of a kind that it can't take, or the GPU's BAR is "
    "full.",
    "ibv_reg_mr of GPU memory, or ibv_reg_dmabuf_mr of a file descriptor, failed. A libcuda that "
    "the process has already is asked what the memory is: a GPU's, managed, or made without "
    "GPUDirect RDMA (the sentence says it).",
    "Reload nvidia-peermem after the GPU and RDMA drivers, or use DMA-BUF (open GPU kernel "
    "modules).",
    EventId::kMrRegister,
    "mlx5_0: registering 4194304 bytes of peermem memory failed in ibv_reg_mr_iova2: errno 14 (Bad "
    "address)."};
inline constexpr Explanation kGdrPeermemVsDmabuf{
    "There are two ways of GPUDirect RDMA, and NCCL does not say which it takes. No fault.",
    "gdr.state tells which is there, and of the first GPU memory that an HCA is given which one "
    "was "
    "taken; conn.close counts each connection's registrations by it.",
    "Nothing is to be done.", EventId::kGdrState,
    "mlx5_0 reaches this process's GPU memory by DMA-BUF."};
inline constexpr Explanation kGdrDist{
    "NCCL uses GPUDirect RDMA only up to a distance between GPU and HCA, by default one PCIe "
    "switch "
    "complex. Beyond it data goes through host memory.",
    "Where GPUDirect is possible, the HCA's place on the PCI bus and that of the nearest GPU: over "
    "a "
    "CPU. No warning: on some machines there is nothing nearer, and NCCL_NET_GDR_LEVEL may allow "
    "it.",
    "Place GPUs and HCAs under the same PCIe switch, or raise NCCL_NET_GDR_LEVEL and measure.",
    EventId::kGdrState,
    "The GPU nearest to mlx5_0 (0000:81:00.0) is PHB away, and NCCL's limit for GPUDirect RDMA is "
    "PXB: its data goes through host memory."};
inline constexpr Explanation kGdrAcs{
    "Access Control Services of PCIe bridges, an IOMMU that translates, or a virtual machine send "
    "the traffic between GPU and HCA through the root complex, or reject it: slow, hung, or WC-4.",
    "An HCA that was given GPU memory can't reach local memory (status 4 or 8), and its IOMMU "
    "group "
    "translates. check, as root: bridges below a switch of GPUs and HCAs that redirect. hca.port "
    "has that type, node.facts the kernel's words on it.",
    "Disable ACS on the bridges, boot with iommu=pt, enable ATS in virtual machines; "
    "NCCL_NET_GDR_LEVEL=LOC shows whether that is it.",
    EventId::kWcError,
    "mlx5_0:1 10.0.1.2: QP 12 towards 10.0.1.9 failed with status 4 LOC_PROT_ERR, vendor error 81 "
    "(0x51); no work request ever completed on it; the HCA was given GPU memory, and its IOMMU "
    "group "
    "is of the type DMA, which translates."};
inline constexpr Explanation kGdrRo{
    "Writes of the HCA may pass each other. Where data passes the flag that announces it, a "
    "receiver "
    "reads old data.",
    "NCCL_GDR_FLUSH_DISABLE is set where GPUDirect is possible. mr.register, a step, has the "
    "access "
    "flags; a setting in firmware can't be seen.",
    "Unset NCCL_GDR_FLUSH_DISABLE; NCCL_IB_PCI_RELAXED_ORDERING=0, and the firmware's "
    "PCI_WR_ORDERING at its default.",
    EventId::kEnvLint,
    "NCCL does not flush what the HCA wrote to GPU memory: the GPU may read data that is not there "
    "yet."};
inline constexpr Explanation kGdrDd{
    "Newer HCAs have a second path to GPU memory; NCCL's line that its function is missing is "
    "harmless on older ones.",
    "A device whose name ends with _dma.", "Nothing is to be done."};
inline constexpr Explanation kGdrCopy{
    "GDRCopy makes small messages a little faster and has nothing to do with GPUDirect RDMA.",
    "Not looked for.", "Nothing is to be done."};

inline constexpr Explanation kLimMemlock{
    "Memory that an HCA uses is locked, and the process may lock little: often 64 KiB or 8 MiB, "
    "since "
    "the daemon that starts jobs was started before the limit was raised.",
    "RLIMIT_MEMLOCK below the policy's minimum and no CAP_IPC_LOCK; or a verb that creates or "
    "registers something failed with ENOMEM while that limit is in force.",
    "Raise the limit: ulimit -l unlimited, LimitMEMLOCK=infinity for the daemon that starts the "
    "job, "
    "--ulimit memlock=-1 for Docker.",
    EventId::kPolicyWarn,
    "Locked memory is limited to 64 KiB and CAP_IPC_LOCK is missing: registering memory will "
    "fail."};
inline constexpr Explanation kLimMemlock2{
    "A verb found no memory although the process may lock as much as it likes: the HCA's own "
    "limits "
    "on QPs, CQs and registrations, or the node's memory.",
    "A verb that creates or registers something failed with ENOMEM, and the limit on locked memory "
    "is "
    "not in force or not known.",
    "Use fewer QPs (NCCL_IB_QPS_PER_CONNECTION, fewer channels), free memory on this node, and "
    "look "
    "in the kernel's log (dmesg) for the HCA's limits.",
    EventId::kQpCreate, "mlx5_0: a QP could not be created: errno 12 (Cannot allocate memory)."};
inline constexpr Explanation kLimNoFile{
    "Every connection of NCCL has sockets, and large jobs need thousands.",
    "RLIMIT_NOFILE below the policy's minimum; or four fifths of it are in use, or all.",
    "ulimit -n 65536, and LimitNOFILE for the daemon that starts the job.", EventId::kPolicyWarn,
    "Only 256 files may be open."};
inline constexpr Explanation kLimUverbs{
    "The device cgroup, the permissions or a mount keep /dev/infiniband/uverbsN from the process.",
    "Named DEV-UNUSABLE here, with that reason.", "See DEV-UNUSABLE."};
inline constexpr Explanation kLimQpCount{
    "How many QPs a job holds is not visible anywhere, while HCAs have a limit.",
    "This process alone has four fifths of the QPs that the HCA takes.",
    "Use fewer QPs: NCCL_IB_QPS_PER_CONNECTION, fewer channels.", EventId::kPortEvent,
    "This process has 105000 QPs on mlx5_0, which takes 131072 in all."};
inline constexpr Explanation kLimShm{
    "Ranks of one node share memory in /dev/shm, of which a container has 64 MB where nothing else "
    "is said; what dead jobs left there fills it too.",
    "check: what is free there against what NCCL takes for each rank that uses the network, for "
    "each "
    "GPU that may be used. report reads NCCL's warning: Error while creating shared memory "
    "segment.",
    "Give the container more: docker run --shm-size=8g or --ipc=host, in Kubernetes an emptyDir "
    "with medium: Memory at /dev/shm. df /dev/shm shows what is left; remove /dev/shm/nccl-* of "
    "jobs that are dead."};
inline constexpr Explanation kLimCpu{
    "A launcher gave each task one CPU (srun without --cpus-per-task), or a container has a small "
    "CPU limit: NCCL's thread that drives the network spins on the CPU that the program needs, and "
    "all collectives are slow, without an error.",
    "check, on a node with GPUs: this process's CPU affinity and its cgroup's cpu.max leave less "
    "than "
    "two CPUs, where the node has four at least.",
    "Slurm: --cpus-per-task=N (srun does not take sbatch's since 22.05: export "
    "SRUN_CPUS_PER_TASK), "
    "mpirun --bind-to none; raise the container's CPU limit."};
inline constexpr Explanation kLimNproc{
    "A limit of the user or of the cgroup on threads and processes: pthread_create fails with "
    "EAGAIN "
    "(Resource temporarily unavailable) in NCCL, in data loaders, or in OpenMP.",
    "check: four fifths of ulimit -u or of a pids.max of the process's cgroups are in use, or "
    "fewer "
    "than 64 are left.",
    "ulimit -u unlimited; TasksMax=infinity for the daemon that starts the job; docker run "
    "--pids-limit=-1, podPidsLimit of the kubelet. ps -eLf | wc -l shows who has them."};
inline constexpr Explanation kLimFork{
    "A data loader forks in the middle of RDMA traffic: the child shares pages that the HCA "
    "writes.",
    "Not recognised; this library itself survives a fork.",
    "Start data loaders by spawn or forkserver, or before NCCL."};

inline constexpr Explanation kIncEnv{
    "A variable of NCCL's is set for one process and not for another: mpirun without -x, or a "
    "container whose first process has it and the job's has not.",
    "The environment of the container's first process, where it may be read. Across nodes: the "
    "variables by which ranks choose alike (NCCL_ALGO, NCCL_PROTO), with NCCL_NET_DIAG_PEERS=on; "
    "else compare env_hash of the node.facts events.",
    "Pass it on: mpirun -x, or the launcher's own way.", EventId::kEnvLint,
    "NCCL_IB_HCA is set for the container's first process and not for this one."};
inline constexpr Explanation kIncShm{
    "NCCL takes ranks for one host's, by its name and boot id, which don't see one /dev/shm: "
    "containers with their own. Where a rank has just ended its segments are gone too.",
    "Not seen by this library. report reads NCCL's warning: Error while attaching to shared memory "
    "segment.",
    "Give the containers of a host one /dev/shm (docker run --ipc=host), or each an NCCL_HOSTID of "
    "its own; NCCL_SHM_DISABLE=1 does without it."};
inline constexpr Explanation kIncVersion{
    "Ranks of one job run different releases of NCCL, which don't understand each other.",
    "The two ends of a connection tell each other theirs (NCCL_NET_DIAG_PEERS=on). Else compare "
    "nccl_version of the plugin.load events.",
    "Install one release everywhere.", EventId::kPeerDiffers,
    "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in NCCL (2.28.9 "
    "here, 2.27.7 there)."};
inline constexpr Explanation kIncNDevs{
    "A node has fewer HCAs than it should, or than its peers. NCCL builds other rings there, and "
    "nobody tells.",
    "Fewer usable ports than the policy's hca.min_count.",
    "Look at the skipped and refused ports of this node.", EventId::kPolicyRefuse,
    "7 usable HCA ports remain, the policy asks for 8."};
inline constexpr Explanation kIncFusion{
    "One node fuses the ports of a card into one device and its peer does not.",
    "The two ends of a connection tell each other, where cards have several ports "
    "(NCCL_NET_DIAG_PEERS=on). Else compare parts in the net.device events.",
    "Set NCCL_IB_MERGE_NICS alike on every node.", EventId::kPeerDiffers,
    "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in fusion of a "
    "card's ports (on here, off there)."};
inline constexpr Explanation kIncQps{"NCCL_IB_QPS_PER_CONNECTION differs between nodes.",
                                     "By the QP that can't be moved; before that the two ends of a "
                                     "connection tell each other (peer.differs, with "
                                     "NCCL_NET_DIAG_PEERS=on). Else compare the variables in the "
                                     "node.facts events.",
                                     "Set NCCL_IB_QPS_PER_CONNECTION alike on every node.",
                                     EventId::kQpTransition,
                                     "mlx5_0:1: QP 17 could not go from INIT to RTR: errno 22 "
                                     "(Invalid argument) after 0 ms, attempt 1; 1610129798, which "
                                     "the peer gave for this QP, is no QP's number: it has made "
                                     "fewer QPs for this connection than this end."};
inline constexpr Explanation kIncIbTcp{
    "One rank uses InfiniBand and its peer TCP: they wait for each other for ever.",
    "The two ends of a connection tell each other, where both are wrapped "
    "(NCCL_NET_DIAG_PEERS=on). Else compare inner and verdict in the logs of the two.",
    "See DEV-FALLBACK for the one on TCP.", EventId::kPeerDiffers,
    "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in transport "
    "(IB "
    "here, Socket there)."};
inline constexpr Explanation kIncRanks{
    "A rank was started twice, WORLD_SIZE differs, or processes of two jobs meet at one address "
    "(MASTER_ADDR and MASTER_PORT, NCCL_COMM_ID).",
    "Not seen by this library. report reads NCCL's warning of its bootstrap root.",
    "Compare RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of all processes, and look for one of "
    "an earlier run that still lives."};
inline constexpr Explanation kIncColl{
    "One rank runs another collective than its peers, the same with another size, or with other "
    "values of NCCL_ALGO, NCCL_PROTO and the like: a branch that only some ranks take, data that "
    "ends earlier, a layer that is unused somewhere.",
    "report finds it by the ranks' counts of collectives (where it needs no id), by Flight "
    "Recorder, "
    "by what PyTorch's watchdog prints, and by NCCL's warnings: collective mismatch error, message "
    "truncated.",
    "Compare what the ranks call: TORCH_DISTRIBUTED_DEBUG=DETAIL checks each collective, Flight "
    "Recorder has the lines of the program. Set NCCL's variables alike on all nodes."};
inline constexpr Explanation kDupGpu{
    "The program doesn't choose the GPU by its local rank, CUDA_VISIBLE_DEVICES names one twice, "
    "or "
    "a node runs more processes than it has GPUs.",
    "check: a launcher's count of tasks on this node against its GPUs. report: NCCL's warning "
    "(Duplicate GPU detected; Multiple Ranks are using the same GPU), in its log or in the summary "
    "of "
    "who ended of it, and by node.facts who shares which GPU.",
    "One process a GPU: torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before anything "
    "else uses CUDA; compare CUDA_VISIBLE_DEVICES of the node's processes."};
inline constexpr Explanation kCudaFail{
    "A GPU is out of memory, a kernel of the program failed before, or the GPU or its driver is in "
    "trouble: NCCL only met it.",
    "Not seen by this library. report reads NCCL's warning: Cuda failure, and what CUDA said.",
    "Look at what this rank printed before, for Xid lines in the kernel's log (dmesg), and at "
    "nvidia-smi -q; CUDA_LAUNCH_BLOCKING=1 shows which kernel it was."};
inline constexpr Explanation kGpuNvls{
    "The Fabric Manager isn't running, was started again without a reset of the GPUs, or a "
    "container lacks /dev/nvidia-caps: NCCL can't bind the multicast memory of NVLink SHARP.",
    "check: NVSwitches on the PCI bus, and no process nv-fabricmanager, where all processes can be "
    "seen. report reads NCCL's warnings of transport/nvls.cc.",
    "On the node that tells: systemctl status nvidia-fabricmanager, nvidia-smi -q (Fabric), "
    "/dev/nvidia-caps in the container; after a restart of the Fabric Manager reset the GPUs. "
    "Until "
    "then NCCL_NVLS_ENABLE=0."};
inline constexpr Explanation kIncDriver{
    "GPUDirect RDMA works on some nodes only, and a connection is as slow as its slower end.",
    "The two ends of a connection tell each other (NCCL_NET_DIAG_PEERS=on). Else compare the "
    "gdr.state events of the nodes.",
    "Load the same modules on every node.", EventId::kPeerDiffers,
    "rank 0 of node0 (pid 811), this process, and rank 1 of node1 (pid 812) differ in GPUDirect "
    "RDMA (possible here, impossible there)."};
inline constexpr Explanation kEnvWrong{
    "A variable NCCL_NET_DIAG_* is unknown, or its value can't be used. The default is in force; a "
    "bad MODE counts as enforce.",
    "Its name against the known ones, its value against what it may be.",
    "Correct it or take it out of the environment.", EventId::kEnvLint,
    "NCCL_NET_DIAG_FIEL: is not a variable of nccl-net-diag and has no effect"};
inline constexpr Explanation kEnvTypo{
    "A variable has nearly the name of one of NCCL's, or a value that NCCL can't read. NCCL says "
    "nothing of either: what was meant is not set, or something else is.",
    "Names in the environment that are a letter or two off one of NCCL's network variables, and "
    "none that an official release has. Values of such variables that are no number, none of the "
    "words that NCCL compares with, or more than the field of the QP holds.",
    "Correct the name or the value, or unset it.", EventId::kEnvLint,
    "NCCL knows no variable NCCL_IB_GID_INDX, and does not read it."};
inline constexpr Explanation kEnvOverride{
    "NCCL's configuration file says one thing and the environment another: the environment wins.",
    "/etc/nccl.conf, ~/.nccl.conf or NCCL_CONF_FILE against the environment.",
    "Set it in one place.", EventId::kEnvLint,
    "/etc/nccl.conf says 4, the environment overrides it."};

inline constexpr Explanation kHangConnect{
    "A connect or accept does not end: the peer died, is on a wrong address, is stuck itself, or "
    "never "
    "was to come.",
    "It is older than NCCL_NET_DIAG_CONNECT_SEC (conn.stall, whose kind says where it is), NCCL "
    "gave "
    "it up, or it is over the policy's connect.deadline_sec.",
    "Look for the peer in the logs of the other processes (same link): it never came, or failed "
    "first.",
    EventId::kConnFail, "NCCL gave up on this connection after 15021 ms in accept."};
inline constexpr Explanation kInitStuck{
    "Ranks meet by TCP before they use any HCA (NCCL's bootstrap), and one that has come waits for "
    "others: they are late, never came, are stuck themselves, or listen on an address that leads "
    "nowhere.",
    "One step of the bootstrap lasts 10 s, 30 s or 60 s (init.stall, whose step says which): no "
    "warning "
    "before 30 s, since ranks start at different times.",
    "Look for ranks without a log, or whose log ends before this step, and at what they do "
    "(py-spy, "
    "gdb); where all are there, compare the bootstrap's interface in their logs (node.facts, oob).",
    EventId::kInitStall,
    "A communicator is still being made after 30 s: the root, 10.0.0.11:4711, was told that this "
    "rank listens on 10.0.0.12:40211 (eth0), and has not answered: the rank after this one has not "
    "come, or the root can't connect to that address."};
inline constexpr Explanation kOobStore{
    "PyTorch's processes meet by TCP at the address of rank 0 (MASTER_ADDR, MASTER_PORT) before "
    "NCCL is there: rank 0 has not come or is gone, it is at another address, or TCP doesn't pass.",
    "Not seen by this library. report reads PyTorch's output: The client socket has timed out, "
    "waiting for clients, retrieving ncclUniqueId.",
    "Look at what rank 0 printed: whether it was started, and is still there. MASTER_ADDR must be "
    "an "
    "address or a name of its node that all nodes reach, MASTER_PORT the same everywhere and let "
    "through."};
inline constexpr Explanation kOobMesh{
    "A sidecar (Istio, Kuma, Linkerd, Consul) sends all TCP of its pod through a proxy that "
    "expects HTTP or TLS: "
    "NCCL's bootstrap and PyTorch's store connect, and then hear nothing or are cut off.",
    "check: the proxy's ports are listened at in this network namespace, which a pod's containers "
    "share. What a network policy or an eBPF program (Cilium) drops can't be seen from here.",
    "Start the job's pods without the sidecar: label or annotation sidecar.istio.io/inject: "
    "\"false\", linkerd.io/inject: disabled."};
inline constexpr Explanation kOobPort{
    "Another process of that node listens there: another job with the same MASTER_PORT, or one "
    "that "
    "was not ended.",
    "Not seen by this library. report reads PyTorch's output: The server socket has failed to "
    "listen.",
    "Give each job a port of its own (torchrun --rdzv-endpoint=HOST:0 finds one); ss -ltnp shows "
    "who has it."};
inline constexpr Explanation kOobBlocked{
    "Ranks meet by TCP before they use any HCA (NCCL's bootstrap), and one can't reach the address "
    "of "
    "another: a firewall, an interface that leads elsewhere (docker0, link-local, another subnet), "
    "or nobody listens there any more.",
    "SYNs to the address stay without an answer, or the connection is refused, for 10 s "
    "(init.stall); "
    "or NCCL gives up at once (init.fail; conn.fail where it is the connection over which two ends "
    "set up their QPs).",
    "Let TCP pass on all ports between the nodes' addresses, and set NCCL_SOCKET_IFNAME on every "
    "node to the interface by which the nodes reach each other.",
    EventId::kInitStall,
    "A communicator is still being made after 10 s: 10.0.0.12 (eth0) gets no answer from "
    "10.0.0.11:4711, where the root listens: 4 SYN sent."};
inline constexpr Explanation kOobClosed{
    "Ranks talk over TCP too, inside a node most of all. A rank that ends, or whose program aborts "
    "its communicator, closes that, and NCCL fails in those that still need it: socketProgress: "
    "Connection closed by remote peer, an internal or a remote error.",
    "A read or write of NCCL's own on the way to another rank's listener finds it closed, reset or "
    "refused (oob.closed); it is still refused after 10 s where ranks had met (init.stall); or the "
    "connection over which two ends set up their QPs is reset (conn.fail). "
    "report knows by init.ready who listened there.",
    "Look at the rank that listened there, what it printed and how it ended; not at those that "
    "failed of it.",
    EventId::kOobClosed,
    "127.0.0.1:55851, where another rank listened for NCCL, is closed: that rank ended, or its "
    "communicator was aborted."};
inline constexpr Explanation kHangRank{
    "The job waits for one rank, whose process is alive and has nothing to do on the network: it "
    "computes, loads data, writes a checkpoint, or hangs in its program.",
    "The processes asked each other whom they wait for (NCCL_NET_DIAG_PEERS=on), and at the end of "
    "the chain is one that waits for nobody. The event says which collective it was given last.",
    "Look at what that process does (py-spy dump, gdb), on its host.", EventId::kJobStall,
    "This process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), which waits for "
    "nobody: NCCL has asked the network for nothing there for 12.0 s; the last that it was given "
    "is "
    "AllReduce #11, this process waits in AllReduce #12."};
inline constexpr Explanation kHangRing{
    "Ranks wait for each other: they called collectives in different orders, other sizes, or sends "
    "without their receives.",
    "The processes asked each other whom they wait for (NCCL_NET_DIAG_PEERS=on), and the question "
    "came back.",
    "Compare what the ranks named here are in: the program's order of collectives differs between "
    "them (PyTorch's Flight Recorder shows the call).",
    EventId::kJobStall,
    "This process has waited 10.0 s, in a ring of processes that wait for each other: rank 2 of "
    "node1 (pid 812) is in AllReduce #5 (4 MB), rank 3 of node1 (pid 813) in Broadcast #5 (4 "
    "MB)."};
inline constexpr Explanation kHangStopped{
    "The job waits for a process that is stopped (SIGSTOP, a debugger), or hangs in the kernel.",
    "It has answered its peers before (NCCL_NET_DIAG_PEERS=on) and does not now, while the kernel "
    "of its host answers.",
    "Look at the process's State in /proc/PID/status on its host: T is stopped (kill -CONT), D "
    "hangs in the kernel (dmesg).",
    EventId::kJobStall,
    "This process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), which has not "
    "answered for 4.0 s while the kernel of its host does: the process is stopped, or hangs in the "
    "kernel."};
inline constexpr Explanation kHangEnded{
    "The job waits for a process that is no longer there.",
    "Its peers ask it (NCCL_NET_DIAG_PEERS=on), and the kernel of its host says that nobody has "
    "that port any more.",
    "Read what that process printed last, and the kernel's log of its host (dmesg: OOM killer, "
    "Xid); then end the job, which waits in vain.",
    EventId::kJobStall,
    "This process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), which has "
    "ended: "
    "the kernel of its host says that nobody has its port."};
inline constexpr Explanation kHangNode{
    "The job waits for a process of a node that does not answer: the node is down, or no packet "
    "gets there.",
    "The process has answered its peers before (NCCL_NET_DIAG_PEERS=on), and now neither it nor "
    "the kernel of its host does, which is asked at a port that nobody has.",
    "Look at the node (console, BMC) and at the network that NCCL's bootstrap uses; a firewall "
    "that drops what it doesn't know looks the same.",
    EventId::kJobStall,
    "This process has waited 10.0 s, and in the end for rank 3 of node1 (pid 812), which has not "
    "answered for 5.0 s, and nor does the kernel of its host."};
inline constexpr Explanation kHangData{
    "Requests are posted and never complete: the peer is not in the collective (most often the "
    "program's own fault), or the network lost them silently.",
    "Nothing completed for NCCL_NET_DIAG_STALL_SEC (conn.stall): kind stuck-send or stuck-flush "
    "where "
    "the HCA has the work and doesn't end it, a warning; nothing-came, no-receive, not-asked, "
    "held-back and idle where the program may be the reason, no warning.",
    "Look at which ranks are in which collective before the network; of stuck-send, at the peer's "
    "port and node and the switch ports between the two.",
    EventId::kConnStall,
    "mlx5_0:1: 1 send towards 10.0.0.2 handed to the HCA, and for 10 s none completed; the HCA "
    "gives "
    "up about 30 s after its first try (status 12); within the last 38 s the port has counted no "
    "trouble."};

inline constexpr Explanation kPolicy{
    "The policy file has a mistake, or the mode is enforce and what enforces is not in place. In "
    "enforce, using the network then fails: nothing unfiltered may run.",
    "Reading the file; the state of the verbs layer when NCCL asks for its devices.",
    "Correct the policy file; where the job may run without it, set NCCL_NET_DIAG_MODE=warn.",
    EventId::kPolicyLoaded, "policy.toml:4: hca.bnod: unknown key; did you mean hca.bond?"};
inline constexpr Explanation kLogLimit{
    "The log of this process is as large as it may be.", "Its size against NCCL_NET_DIAG_MAX_MB.",
    "raise NCCL_NET_DIAG_MAX_MB or write fewer events (NCCL_NET_DIAG_EVENTS)", EventId::kLogDropped,
    "the event log reached its limit of 67108864 bytes: of later events only warnings and errors "
    "are written, the others are counted"};
inline constexpr Explanation kLogDropped{
    "Events came faster than they could be written, or the disk is full.",
    "The counts of what was lost.",
    "write fewer events (NCCL_NET_DIAG_EVENTS), or put the log on a faster or emptier disk "
    "(NCCL_NET_DIAG_FILE)",
    EventId::kLogDropped, "112 events were not written"};

}  // namespace nnd::diagnosis::catalogue
