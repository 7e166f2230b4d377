// A NCCL job on softcuda's GPUs: what every rank does. Plain data, and its JSON form in which a
// rank gets it.
#pragma once

#include <csignal>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "function.h"
#include "gpu.h"

namespace softcuda {

// What a rank does next. Communicators are named by a number of the job's own.
struct Action {
  enum class Kind {
    kCreate,      // ncclCommInitRank of all ranks, as communicator `comm`
    kSplit,       // ncclCommSplit of `comm` by rank modulo `parts`, as communicator `made`
    kShrink,      // ncclCommShrink of `comm` by all but its last rank, as `made` (2.27 and newer)
    kDeviceApi,   // ncclDevCommCreate on `comm` with GIN, and ncclDevCommDestroy (2.28 and newer)
    kCollective,  // `iterations` times, the data of the first and the last checked
    kGroupStart,  // until the kGroupEnd of the outermost NCCL only notes what is created, ended and
                  // called, each collective once
    kGroupEnd,
    kWait,  // for what was started without waiting
    kMeet,  // until every rank of this machine that still lives has come here
    kFinalize,
    kDestroy,  // after a meeting
    kAbort,
    kCompute,  // the network isn't asked for anything for `ms`
    kDie,      // `signal` to itself
    kExit,     // exit(`status`), with communicators and kernels as they are
  };
  Kind kind = Kind::kCreate;
  int comm = 0;
  bool other_nccl = false;  // kCreate: in JobSpec::other_nccl
  int made = 1, parts = 2;
  Collective collective = Collective::kAllReduce;
  Operation operation = Operation::kSum;
  Type type = Type::kFloat32;
  std::size_t bytes =
      1 << 20;  // of the count argument: per rank's share in all-gather and reduce-scatter
  int iterations = 1;
  int ms = 0;
  int signal = SIGKILL;
  int status = 0;
  int root = 0;
  bool in_place = false;
  bool wait = true;       // false: start it and go on
  bool in_a_row = false;  // the iterations are started without waiting in between, for measurements
  std::optional<int> only_rank = std::nullopt;  // others leave it out
};

struct JobSpec {
  std::string nccl;          // libnccl.so.2
  std::string nccl_symbols;  // a file of the same build with its symbol table, where it is stripped
  std::string other_nccl;    // a second libnccl.so.2 for the same processes, or empty
  int nodes = 2;
  int gpus_per_node = 1;
  // Places of a node's GPUs, the same on every node; as many as gpus_per_node, or empty for buses
  // 0x10, 0x11, ...
  std::vector<PciAddress> gpus;
  // All GPUs of a node are on an NVSwitch, and reach each other's memory; else only NCCL's shared
  // memory and the network join them.
  bool nvswitch = false;
  std::vector<Action> actions;
  double deadline_sec = 60;  // for the whole job; then the ranks are ended
  // How long the others may go on once a rank has failed; by default until the deadline.
  std::optional<double> grace_sec = std::nullopt;
  // Whether SIGTERM ends a rank in good order; else at once, as a program without a handler.
  bool heeds_sigterm = true;
  double linger_sec = 0;  // how long a rank that has failed keeps its process, as frameworks do

  // Whether the caller's settings and launcher (NCCL_..., UCX_..., SLURM_...) reach the ranks.
  bool inherit_nccl_settings = true;
  // Each rank's environment: the caller's, an NCCL_HOSTID per node, then these.
  std::map<std::string, std::string> environment;
  std::map<int, std::map<std::string, std::string>> node_environment;  // more, by node
  std::map<int, std::map<std::string, std::string>> rank_environment;  // more, by rank
  std::vector<std::string> library_path;  // put in front of LD_LIBRARY_PATH
  // What stands for /sys, by node (empty: the machine's own).
  std::map<int, std::string> sysfs;

  int ranks() const { return nodes * gpus_per_node; }
};

// What one rank needs to know.
struct RankSpec {
  JobSpec job;
  int rank = 0;
  std::optional<int> gpu = std::nullopt;  // of the node's; by default rank modulo gpus_per_node
};

void to_json(nlohmann::json& json, const JobSpec& spec);
void from_json(const nlohmann::json& json, JobSpec& spec);
void to_json(nlohmann::json& json, const RankSpec& spec);
void from_json(const nlohmann::json& json, RankSpec& spec);

// Names as users write them: "all_reduce", "sum", "f32". Empty when there is none such.
std::string name_of(Collective collective);
std::string name_of(Operation operation);
std::string name_of(Type type);
std::optional<Collective> collective_named(const std::string& name);
std::optional<Operation> operation_named(const std::string& name);
std::optional<Type> type_named(const std::string& name);
std::string name_of(Action::Kind kind);

}  // namespace softcuda
