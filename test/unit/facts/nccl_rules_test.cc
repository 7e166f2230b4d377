#include "facts/nccl_rules.h"

#include <cerrno>

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::gid;

namespace {

constexpr int kOld = 22809;
constexpr int kNew = 23007;

bool takes(const char* value, const char* device, int port, int version = kOld) {
  const std::string text = value;
  return HcaFilter::parse(&text, version).takes(device, port);
}

struct Slot {
  const char* text;
  GidType type;
  int error = 0;
};

std::vector<GidSlot> table(const std::vector<Slot>& slots) {
  std::vector<GidSlot> out;
  for (const Slot& slot : slots)
    out.push_back({*slot.text ? gid(slot.text) : nnd::context::Gid{}, slot.type, slot.error});
  return out;
}

using Values = std::map<std::string, std::string, std::less<>>;

GidPick pick(const std::vector<Slot>& slots, const Values& values = {}, int version = kOld) {
  return pick_gid(table(slots), 2, Environment(values), version);
}

constexpr GidType kV1 = GidType::kRoceV1;
constexpr GidType kV2 = GidType::kRoceV2;
constexpr GidType kNone = GidType::kUnknown;

const std::vector<Slot> kUsual = {
    {"fe80::1", kV1}, {"fe80::1", kV2}, {"10.0.1.2", kV1}, {"10.0.1.2", kV2}, {"", kNone}};

}  // namespace

TEST_CASE("NCCL_IB_HCA as NCCL reads it") {
  struct Row {
    const char* value;
    const char* device;
    int port;
    bool taken;
  };
  const auto row = GENERATE(
      Row{"mlx5_1", "mlx5_1", 1, true}, Row{"mlx5_1", "mlx5_10", 1, true},
      Row{"mlx5_1", "mlx5_0", 1, false}, Row{"=mlx5_1", "mlx5_1", 1, true},
      Row{"=mlx5_1", "mlx5_10", 1, false}, Row{"^mlx5_1", "mlx5_1", 1, false},
      Row{"^mlx5_1", "mlx5_10", 1, false}, Row{"^mlx5_1", "mlx5_0", 1, true},
      Row{"^=mlx5_1", "mlx5_10", 1, true}, Row{"^=mlx5_1", "mlx5_1", 1, false},
      // '=' before '^' makes '^' a part of the name
      Row{"=^mlx5_1", "mlx5_1", 1, false}, Row{"=^mlx5_1", "^mlx5_1", 1, true},
      // a second '^' or '=' belongs to its entry's name
      Row{"^=mlx5_1,^=mlx5_2", "mlx5_2", 1, true}, Row{"^=mlx5_1,^=mlx5_2", "mlx5_1", 1, false},
      Row{"mlx5_1:1", "mlx5_1", 1, true}, Row{"mlx5_1:1", "mlx5_1", 2, false},
      Row{"^mlx5_1:1", "mlx5_1", 1, false}, Row{"^mlx5_1:1", "mlx5_1", 2, true},
      Row{"mlx5_0,mlx5_2", "mlx5_2", 1, true}, Row{"mlx5_0,,mlx5_2", "mlx5_2", 1, true},
      Row{"mlx5_0, mlx5_2", "mlx5_2", 1, false},  // a space is a part of the name
      Row{",", "mlx5_0", 1, true}, Row{"", "mlx5_0", 1, true}, Row{"^", "mlx5_0", 1, false},
      Row{"=", "mlx5_0", 1, true}, Row{"^=", "mlx5_0", 1, false}, Row{":1", "mlx5_0", 2, true},
      Row{"mlx5", "mlx5_bond_0", 1, true}, Row{"mlx5_1:x", "mlx5_1", 1, false},
      Row{"mlx5_1:1:3:2", "mlx5_1", 1, true});
  const int version = GENERATE(kOld, kNew);
  INFO(row.value << " " << row.device << ":" << row.port << " " << version);
  CHECK(takes(row.value, row.device, row.port, version) == row.taken);
}

TEST_CASE("an empty port is none up to 2.30.4 and any from 2.30.7") {
  CHECK_FALSE(takes("mlx5_1:", "mlx5_1", 1, kOld));
  CHECK(takes("mlx5_1:", "mlx5_1", 1, kNew));
  CHECK(takes("mlx5_1:::2", "mlx5_1", 1, kNew));
}

TEST_CASE("rail and plane are read from 2.30.7 on") {
  const std::string value = "mlx5_0:1:3:2,mlx5_1::4";
  const auto filter = HcaFilter::parse(&value, kNew);
  REQUIRE(filter.entries.size() == 2);
  CHECK(filter.entries[0].rail == 3);
  CHECK(filter.entries[0].plane == 2);
  CHECK(filter.entries[1].port == -1);
  CHECK(filter.entries[1].rail == 4);
  CHECK(filter.entries[1].plane == -1);
  CHECK(HcaFilter::parse(&value, kOld).entries[0].rail == -1);
}

TEST_CASE("entries beyond NCCL's device limit are not read") {
  std::string value = "=";
  for (int i = 0; i < 40; ++i) value += (i ? ",mlx5_" : "mlx5_") + std::to_string(i);
  CHECK(HcaFilter::parse(&value, kNew).entries.size() == 32);
  CHECK(HcaFilter::parse(&value, 21903).entries.size() == 32);
  CHECK(HcaFilter::parse(&value, 21803).entries.size() == 16);
  CHECK(takes(value.c_str(), "mlx5_31", 1));
  CHECK_FALSE(takes(value.c_str(), "mlx5_32", 1));
}

TEST_CASE("without NCCL_IB_HCA everything is taken") {
  CHECK(HcaFilter::parse(nullptr, kOld).takes("mlx5_0", 1));
  CHECK_FALSE(HcaFilter::parse(nullptr, kOld).given);
}

TEST_CASE("numbers are read as NCCL reads them") {
  Environment environment(Values{{"A", "0x10"},
                                 {"B", ""},
                                 {"C", "x"},
                                 {"D", "7abc"},
                                 {"E", "99999999999999999999"},
                                 {"F", "010"}});
  CHECK(environment.number("A", 1) == 16);
  CHECK(environment.number("B", 1) == 1);
  CHECK(environment.number("C", 1) == 1);
  CHECK(environment.number("D", 1) == 7);
  CHECK(environment.number("E", 1) == 1);
  CHECK(environment.number("F", 1) == 8);
  CHECK(environment.number("G", 5) == 5);
  environment.read_as(23102);
  CHECK(environment.number("C", 1) == 0);
  CHECK(environment.number("D", 1) == 7);
}

TEST_CASE("the GID that NCCL picks by itself") {
  CHECK(pick(kUsual).index == 3);
  CHECK(pick(kUsual).basis == PickBasis::kQualified);
  CHECK(pick(kUsual, {{"NCCL_IB_ROCE_VERSION_NUM", "1"}}).index == 2);
  CHECK(pick(kUsual, {{"NCCL_IB_ADDR_RANGE", "10.0.0.0/16"}}).index == 3);

  const std::vector<Slot> two = {{"fe80::1", kV1},  {"fe80::1", kV2},  {"10.0.1.2", kV1},
                                 {"10.0.1.2", kV2}, {"10.9.1.2", kV1}, {"10.9.1.2", kV2}};
  CHECK(pick(two).index == 3);
  CHECK(pick(two, {{"NCCL_IB_ADDR_RANGE", "10.9.0.0/16"}}).index == 5);
  // a wrong range is ignored, one that leaves out everything is not
  CHECK(pick(two, {{"NCCL_IB_ADDR_RANGE", "10.9.0.0"}}).index == 3);
  CHECK(pick(two, {{"NCCL_IB_ADDR_RANGE", "10.9.0.0/33"}}).index == 3);
  CHECK(pick(two, {{"NCCL_IB_ADDR_RANGE", "fd00::/16"}}).index == 3);
  CHECK(pick(two, {{"NCCL_IB_ADDR_RANGE", "10.9.0.0/-1"}}).index == 0);
  const GidPick outside = pick(two, {{"NCCL_IB_ADDR_RANGE", "192.168.0.0/16"}});
  CHECK(outside.index == 0);
  CHECK(outside.basis == PickBasis::kFallback);
  CHECK(outside.why ==
        "no IPv4 GID qualifies in NCCL_IB_ADDR_RANGE: index 0 stays (link-local "
        "fe80::1)");
}

TEST_CASE("IPv6-only fabrics") {
  const std::vector<Slot> six = {
      {"fe80::1", kV1}, {"fe80::1", kV2}, {"fd00::1", kV1}, {"fd00::1", kV2}};
  const GidPick by_default = pick(six);
  CHECK(by_default.index == 0);
  CHECK(by_default.basis == PickBasis::kFallback);
  CHECK(by_default.why == "no IPv4 GID qualifies: index 0 stays (link-local fe80::1)");
  CHECK(pick(six, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}).index == 3);
  CHECK(
      pick(six, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}, {"NCCL_IB_ADDR_RANGE", "fd00::/16"}}).index ==
      3);
  CHECK(
      pick(six, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}, {"NCCL_IB_ADDR_RANGE", "fd01::/16"}}).index ==
      0);
  CHECK(pick(six, {{"NCCL_IB_ADDR_FAMILY", "INET6"}}).index == 0);  // not a name that NCCL knows
}

TEST_CASE("a table without the wanted RoCE version") {
  const GidPick only_v1 = pick({{"fe80::1", kV1}, {"10.0.1.2", kV1}});
  CHECK(only_v1.index == 1);
  CHECK(only_v1.basis == PickBasis::kOtherVersion);
  CHECK(only_v1.why == "RoCE v1 IPv4 GID; no RoCE v2 GID fits");
}

TEST_CASE("with AF_INET6 NCCL can stop at an empty slot") {
  const GidPick empty =
      pick({{"10.0.1.2", kV2}, {"", kNone}}, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}});
  CHECK(empty.index == 1);
  CHECK(empty.basis == PickBasis::kOtherVersion);
}

TEST_CASE("containers: types that can't be read") {
  const std::vector<Slot> hidden = {
      {"fe80::1", kNone, EINVAL}, {"10.0.1.2", kNone, EINVAL}, {"10.0.1.2", kV2}};
  CHECK(pick(hidden, {}, 22602).index == 2);
  const GidPick before = pick(hidden, {}, 22501);
  CHECK(before.index == -1);
  CHECK(before.basis == PickBasis::kNone);
  const std::vector<Slot> gone = {
      {"fe80::1", kV2, ENOENT}, {"10.0.1.2", kV2, ENOENT}, {"10.0.1.2", kV2, ENOENT}};
  CHECK(pick(gone).index == -1);
}

TEST_CASE("forced and fixed indices") {
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "2"}}).index == 2);
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "2"}}).basis == PickBasis::kForced);
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "9"}}).index == -1);  // ibv_query_gid fails
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "-1"}}).index == 3);
  CHECK(pick(kUsual, {}, 22005).index == 0);
  CHECK(pick(kUsual, {}, 22005).basis == PickBasis::kFixedDefault);
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "3"}}, 21803).index == 3);
  CHECK(pick(kUsual, {{"NCCL_IB_GID_INDEX", "-1"}}, 21803).index == -1);
  CHECK(pick(kUsual, {}, 0).index == 3);
  CHECK(pick(kUsual, {{"NCCL_IB_ADDR_RANGE", "10.0.0.0"}}).index == 3);
  CHECK(pick(kUsual, {{"NCCL_IB_ADDR_RANGE", "10.0.0.0"}}, 22105).index == -1);
}

TEST_CASE("a type is read where NCCL reads it, and what it can't know is said") {
  const auto slots =
      table({{"fe80::1", kV1}, {"10.0.0.1", kV1}, {"10.0.0.1", kV2}, {"fd00::1", kV2}});
  std::vector<std::size_t> read;
  const auto unreadable = [&read](std::size_t which) {
    return [&read, which](std::size_t index) {
      read.push_back(index);
      return index == which ? EINVAL : 0;
    };
  };
  CHECK(pick_gid(slots, 2, Environment(), 0, unreadable(9)).index == 2);
  CHECK(read == std::vector<std::size_t>{1, 2});  // the other family is left alone
  CHECK(pick_gid(slots, 2, Environment(), 0, unreadable(9)).certain);
  CHECK_FALSE(pick_gid(slots, 2, Environment(), 0, unreadable(1)).certain);
  CHECK(pick_gid(slots, 2, Environment(), 0, unreadable(2)).index == 1);
  CHECK(pick_gid(slots, 2, Environment(), 0, unreadable(2)).certain);
  CHECK(pick_gid(slots, 2, Environment(), 22501, unreadable(1)).index == -1);
}

TEST_CASE("InfiniBand looks for a FLID, and NCCL_IB_GID_INDEX only counts where it fails") {
  auto plain = table({{"fe80::1", GidType::kIb}, {"", kNone}});
  const Environment forced(Values{{"NCCL_IB_GID_INDEX", "3"}});
  CHECK(pick_gid(plain, 1, forced, kOld).index == 0);
  plain[1].raw = gid("fec0::1");
  plain[1].raw[5] = 7;
  CHECK(pick_gid(plain, 1, forced, kOld).index == 1);
  CHECK(pick_gid(plain, 1, forced, kOld).basis == PickBasis::kRoutableFlid);
  CHECK(pick_gid(plain, 1, forced, 22105).index == -1);
  CHECK(pick_gid(plain, 1, Environment(Values{{"NCCL_IB_GID_INDEX", "1"}}), 22105).index == 0);
  const Environment no_index(Values{{"NCCL_IB_ROUTABLE_FLID_GID_INDEX", "-1"}});
  CHECK(pick_gid(plain, 1, no_index, kOld).index == -1);
  CHECK(pick_gid({}, 1, forced, kOld).index == -1);
}
