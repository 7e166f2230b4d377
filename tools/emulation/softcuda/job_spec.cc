#include "job_spec.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "job_environment.h"

namespace softcuda {
namespace {

template <typename T>
using Names = std::pair<T, std::string_view>;

constexpr std::array kCollectiveNames{
    Names<Collective>{Collective::kSendRecv, "sendrecv"},
    Names<Collective>{Collective::kBroadcast, "broadcast"},
    Names<Collective>{Collective::kReduce, "reduce"},
    Names<Collective>{Collective::kAllGather, "all_gather"},
    Names<Collective>{Collective::kReduceScatter, "reduce_scatter"},
    Names<Collective>{Collective::kAllReduce, "all_reduce"},
};
constexpr std::array kOperationNames{
    Names<Operation>{Operation::kSum, "sum"},     Names<Operation>{Operation::kProduct, "prod"},
    Names<Operation>{Operation::kMin, "min"},     Names<Operation>{Operation::kMax, "max"},
    Names<Operation>{Operation::kAverage, "avg"},
};
constexpr std::array kTypeNames{
    Names<Type>{Type::kInt8, "i8"},     Names<Type>{Type::kUint8, "u8"},
    Names<Type>{Type::kInt32, "i32"},   Names<Type>{Type::kUint32, "u32"},
    Names<Type>{Type::kInt64, "i64"},   Names<Type>{Type::kUint64, "u64"},
    Names<Type>{Type::kFloat16, "f16"}, Names<Type>{Type::kBfloat16, "bf16"},
    Names<Type>{Type::kFloat32, "f32"}, Names<Type>{Type::kFloat64, "f64"},
};
constexpr std::array kKinds{
    Names<Action::Kind>{Action::Kind::kCreate, "create"},
    Names<Action::Kind>{Action::Kind::kSplit, "split"},
    Names<Action::Kind>{Action::Kind::kShrink, "shrink"},
    Names<Action::Kind>{Action::Kind::kDeviceApi, "device_api"},
    Names<Action::Kind>{Action::Kind::kCollective, "collective"},
    Names<Action::Kind>{Action::Kind::kGroupStart, "group_start"},
    Names<Action::Kind>{Action::Kind::kGroupEnd, "group_end"},
    Names<Action::Kind>{Action::Kind::kWait, "wait"},
    Names<Action::Kind>{Action::Kind::kMeet, "meet"},
    Names<Action::Kind>{Action::Kind::kFinalize, "finalize"},
    Names<Action::Kind>{Action::Kind::kDestroy, "destroy"},
    Names<Action::Kind>{Action::Kind::kAbort, "abort"},
    Names<Action::Kind>{Action::Kind::kCompute, "compute"},
    Names<Action::Kind>{Action::Kind::kDie, "die"},
    Names<Action::Kind>{Action::Kind::kExit, "exit"},
};

template <typename T, std::size_t N>
std::string find_name(const std::array<Names<T>, N>& names, T value) {
  for (const auto& [key, name] : names)
    if (key == value) return std::string(name);
  return {};
}

template <typename T, std::size_t N>
std::optional<T> find_value(const std::array<Names<T>, N>& names, std::string_view name) {
  for (const auto& [value, known] : names)
    if (known == name) return value;
  return std::nullopt;
}

// JSON objects have text keys only.
template <typename T>
nlohmann::json by_text(const std::map<int, T>& values) {
  auto json = nlohmann::json::object();
  for (const auto& [key, value] : values) json[std::to_string(key)] = value;
  return json;
}

template <typename T>
std::map<int, T> by_number(const nlohmann::json& json) {
  std::map<int, T> values;
  for (const auto& [key, value] : json.items()) values[std::stoi(key)] = value.template get<T>();
  return values;
}

nlohmann::json action_json(const Action& action) {
  nlohmann::json json{{"kind", name_of(action.kind)},
                      {"comm", action.comm},
                      {"other_nccl", action.other_nccl},
                      {"made", action.made},
                      {"parts", action.parts},
                      {"collective", name_of(action.collective)},
                      {"operation", name_of(action.operation)},
                      {"type", name_of(action.type)},
                      {"bytes", action.bytes},
                      {"iterations", action.iterations},
                      {"ms", action.ms},
                      {"signal", action.signal},
                      {"status", action.status},
                      {"root", action.root},
                      {"in_place", action.in_place},
                      {"wait", action.wait},
                      {"in_a_row", action.in_a_row}};
  if (action.only_rank) json["only_rank"] = *action.only_rank;
  return json;
}

Action parse_action(const nlohmann::json& json) {
  Action action;
  action.kind = find_value(kKinds, json.at("kind").get<std::string>()).value();
  action.comm = json.at("comm");
  action.other_nccl = json.at("other_nccl");
  action.made = json.at("made");
  action.parts = json.at("parts");
  action.collective = collective_named(json.at("collective")).value();
  action.operation = operation_named(json.at("operation")).value();
  action.type = type_named(json.at("type")).value();
  action.bytes = json.at("bytes");
  action.iterations = json.at("iterations");
  action.ms = json.at("ms");
  action.signal = json.at("signal");
  action.status = json.at("status");
  action.root = json.at("root");
  action.in_place = json.at("in_place");
  action.wait = json.at("wait");
  action.in_a_row = json.at("in_a_row");
  if (json.contains("only_rank")) action.only_rank = json.at("only_rank").get<int>();
  return action;
}

}  // namespace

std::string name_of(Collective collective) { return find_name(kCollectiveNames, collective); }
std::string name_of(Operation operation) { return find_name(kOperationNames, operation); }
std::string name_of(Type type) { return find_name(kTypeNames, type); }
std::string name_of(Action::Kind kind) { return find_name(kKinds, kind); }
std::optional<Collective> collective_named(const std::string& name) {
  return find_value(kCollectiveNames, name);
}
std::optional<Operation> operation_named(const std::string& name) {
  return find_value(kOperationNames, name);
}
std::optional<Type> type_named(const std::string& name) { return find_value(kTypeNames, name); }

void to_json(nlohmann::json& json, const JobSpec& spec) {
  json = {{"nccl", spec.nccl},
          {"nccl_symbols", spec.nccl_symbols},
          {"other_nccl", spec.other_nccl},
          {"nodes", spec.nodes},
          {"gpus_per_node", spec.gpus_per_node},
          {"nvswitch", spec.nvswitch},
          {"deadline_sec", spec.deadline_sec},
          {"heeds_sigterm", spec.heeds_sigterm},
          {"linger_sec", spec.linger_sec},
          {"environment", spec.environment},
          {"inherit_nccl_settings", spec.inherit_nccl_settings},
          {"rank_environment", by_text(spec.rank_environment)},
          {"node_environment", by_text(spec.node_environment)},
          {"library_path", spec.library_path},
          {"sysfs", by_text(spec.sysfs)}};
  if (spec.grace_sec) json["grace_sec"] = *spec.grace_sec;
  json["gpus"] = nlohmann::json::array();
  for (const PciAddress& gpu : spec.gpus) json["gpus"].push_back(to_string(gpu));
  json["actions"] = nlohmann::json::array();
  for (const Action& action : spec.actions) json["actions"].push_back(action_json(action));
}

void from_json(const nlohmann::json& json, JobSpec& spec) {
  spec.nccl = json.at("nccl");
  spec.nccl_symbols = json.at("nccl_symbols");
  spec.other_nccl = json.at("other_nccl");
  spec.nodes = json.at("nodes");
  spec.gpus_per_node = json.at("gpus_per_node");
  spec.nvswitch = json.at("nvswitch");
  spec.deadline_sec = json.at("deadline_sec");
  spec.heeds_sigterm = json.at("heeds_sigterm");
  spec.linger_sec = json.at("linger_sec");
  if (json.contains("grace_sec")) spec.grace_sec = json.at("grace_sec").get<double>();
  spec.environment = json.at("environment").get<Variables>();
  spec.inherit_nccl_settings = json.at("inherit_nccl_settings");
  spec.rank_environment = by_number<Variables>(json.at("rank_environment"));
  spec.node_environment = by_number<Variables>(json.at("node_environment"));
  spec.library_path = json.at("library_path").get<std::vector<std::string>>();
  spec.sysfs = by_number<std::string>(json.at("sysfs"));
  for (const auto& gpu : json.at("gpus"))
    spec.gpus.push_back(parse_pci(gpu.get<std::string>()).value());
  for (const auto& action : json.at("actions")) spec.actions.push_back(parse_action(action));
}

void to_json(nlohmann::json& json, const RankSpec& spec) {
  json = {{"job", spec.job}, {"rank", spec.rank}};
  if (spec.gpu) json["gpu"] = *spec.gpu;
}

void from_json(const nlohmann::json& json, RankSpec& spec) {
  spec.job = json.at("job").get<JobSpec>();
  spec.rank = json.at("rank");
  if (json.contains("gpu")) spec.gpu = json.at("gpu").get<int>();
}

}  // namespace softcuda
