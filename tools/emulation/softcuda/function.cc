#include "function.h"

#include <array>
#include <utility>
#include <vector>

namespace softcuda {
namespace {

template <typename T, std::size_t N>
std::optional<T> look_up(const std::array<std::pair<std::string_view, T>, N>& table,
                         std::string_view name) {
  for (const auto& [key, value] : table)
    if (key == name) return value;
  return std::nullopt;
}

constexpr std::array<std::pair<std::string_view, Collective>, 5> kCollectives{{
    {"Broadcast", Collective::kBroadcast},
    {"Reduce", Collective::kReduce},
    {"AllGather", Collective::kAllGather},
    {"ReduceScatter", Collective::kReduceScatter},
    {"AllReduce", Collective::kAllReduce},
}};
constexpr std::array<std::pair<std::string_view, Operation>, 4> kOperations{{
    {"Sum", Operation::kSum},
    {"MinMax", Operation::kMinMax},
    {"PreMulSum", Operation::kPreMulSum},
    {"SumPostDiv", Operation::kSumPostDiv},
}};
// Signed sums and extremes are done by the functions for unsigned numbers; the i names exist for
// completeness.
constexpr std::array<std::pair<std::string_view, Type>, 10> kTypes{{
    {"i8", Type::kInt8},
    {"u8", Type::kUint8},
    {"i32", Type::kInt32},
    {"u32", Type::kUint32},
    {"i64", Type::kInt64},
    {"u64", Type::kUint64},
    {"f16", Type::kFloat16},
    {"bf16", Type::kBfloat16},
    {"f32", Type::kFloat32},
    {"f64", Type::kFloat64},
}};

constexpr std::array<std::pair<std::string_view, Algorithm>, 3> kAlgorithms{{
    {"RING", Algorithm::kRing},
    {"TREE", Algorithm::kTree},
    {"PAT", Algorithm::kPat},
}};
constexpr std::array<std::pair<std::string_view, Protocol>, 3> kProtocols{{
    {"LL", Protocol::kLL},
    {"LL128", Protocol::kLL128},
    {"SIMPLE", Protocol::kSimple},
}};

// What follows the prefix, cut at "_".
std::vector<std::string_view> words_after(std::string_view name, std::string_view prefix) {
  const auto at = name.find(prefix);
  if (at == std::string_view::npos) return {};
  std::vector<std::string_view> words;
  std::string_view rest = name.substr(at + prefix.size());
  if (name.starts_with("_Z") && rest.ends_with("v"))
    rest.remove_suffix(1);  // mangled: no parameters
  while (!rest.empty()) {
    const auto end = rest.find('_');
    words.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return words;
}

bool moves_only(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kAllGather;
}

bool is_played(Collective collective, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
      return collective == Collective::kAllReduce;
    case Algorithm::kPat:
      return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  }
  return false;
}

}  // namespace

int size_of(Type type) {
  switch (type) {
    case Type::kInt8:
    case Type::kUint8:
      return 1;
    case Type::kFloat16:
    case Type::kBfloat16:
      return 2;
    case Type::kInt32:
    case Type::kUint32:
    case Type::kFloat32:
      return 4;
    case Type::kInt64:
    case Type::kUint64:
    case Type::kFloat64:
      return 8;
  }
  return 1;
}

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "Ring";
    case Algorithm::kTree:
      return "Tree";
    case Algorithm::kPat:
      return "PAT";
  }
  return {};
}

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLL:
      return "LL";
    case Protocol::kLL128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  return {};
}

std::optional<Function> parse_device_function(std::string_view name) {
  const auto words = words_after(name, "ncclDevFunc_");
  if (words.size() == 1 && words[0] == "SendRecv") return Function{};
  if (words.size() < 3) return std::nullopt;
  const auto collective = look_up(kCollectives, words[0]);
  const auto algorithm = look_up(kAlgorithms, words[words.size() - 2]);
  const auto protocol = look_up(kProtocols, words.back());
  if (!collective || !algorithm || !protocol || !is_played(*collective, *algorithm))
    return std::nullopt;
  if (moves_only(*collective)) {
    if (words.size() != 3) return std::nullopt;
    return Function{*collective, Operation::kNone, Type::kInt8, *algorithm, *protocol};
  }
  if (words.size() != 5) return std::nullopt;
  const auto operation = look_up(kOperations, words[1]);
  const auto type = look_up(kTypes, words[2]);
  if (!operation || !type) return std::nullopt;
  return Function{*collective, *operation, *type, *algorithm, *protocol};
}

std::optional<Function> decode_function_index(unsigned index) {
  constexpr unsigned kProtocolCount = 3, kAlgorithmCount = 6, kTree = 0, kRing = 1, kTypeCount = 10,
                     kOperationCount = 6;
  // The order of ncclFunc_t, ncclDevRedOp_t and ncclDataType_t in 2.18.
  constexpr std::array kOrder{Collective::kBroadcast, Collective::kReduce, Collective::kAllGather,
                              Collective::kReduceScatter, Collective::kAllReduce};
  constexpr std::array<std::optional<Operation>, kOperationCount> kOps{
      Operation::kSum, std::nullopt,          Operation::kMax,
      Operation::kMin, Operation::kPreMulSum, std::nullopt};
  constexpr std::array<std::optional<Type>, kTypeCount> kTypeOrder{
      Type::kInt8,   Type::kUint8,   Type::kInt32,   Type::kUint32,  Type::kInt64,
      Type::kUint64, Type::kFloat16, Type::kFloat32, Type::kFloat64, Type::kBfloat16};
  if (index == 0) return Function{};
  if (index < 1 + kTypeCount) return std::nullopt;  // reductions of a single rank
  index -= 1 + kTypeCount;
  const auto protocol = static_cast<Protocol>(index % kProtocolCount);
  const unsigned algorithm = (index /= kProtocolCount) % kAlgorithmCount;
  const auto type = kTypeOrder[(index /= kAlgorithmCount) % kTypeCount];
  const auto operation = kOps[(index /= kTypeCount) % kOperationCount];
  index /= kOperationCount;
  if (index >= kOrder.size() || (algorithm != kRing && algorithm != kTree)) return std::nullopt;
  const Algorithm shape = algorithm == kRing ? Algorithm::kRing : Algorithm::kTree;
  const Collective collective = kOrder[index];
  if (!is_played(collective, shape)) return std::nullopt;
  if (moves_only(collective))
    return Function{collective, Operation::kNone, Type::kInt8, shape, protocol};
  if (!type || !operation) return std::nullopt;
  return Function{collective, *operation, *type, shape, protocol};
}

}  // namespace softcuda
