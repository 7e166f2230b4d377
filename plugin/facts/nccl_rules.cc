#include "facts/nccl_rules.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace nnd::facts {

namespace {

constexpr std::size_t kMaxPrefix = 63;
constexpr int kInfinibandLayer = 1;

// Up to 2.30.4: the name ends at the first ':', the rest up to ',' is the port.
void parse_plain(std::string_view entry, std::vector<HcaEntry>& entries) {
  const auto colon = entry.find(':');
  HcaEntry out;
  out.name = entry.substr(0, std::min(colon, kMaxPrefix));
  if (out.name.empty()) return;
  if (colon != std::string_view::npos)
    out.port = std::atoi(std::string(entry.substr(colon + 1)).c_str());
  entries.push_back(out);
}

// From 2.30.7: name:port:rail:plane, each of the numbers may be left out or empty.
void parse_with_rails(std::string_view entry, std::vector<HcaEntry>& entries) {
  HcaEntry out;
  const auto next = [&entry] {
    const auto colon = entry.find(':');
    std::string part(entry.substr(0, colon));
    entry = colon == std::string_view::npos ? std::string_view() : entry.substr(colon + 1);
    return part;
  };
  const auto number = [&next] {
    const std::string part = next();
    return part.empty() ? -1 : std::atoi(part.c_str());
  };
  out.name = next().substr(0, kMaxPrefix);
  if (out.name.empty()) return;
  out.port = number();
  out.rail = number();
  out.plane = number();
  entries.push_back(out);
}

struct Wanted {
  Family family = Family::kIpv4;
  long roce_version = 2;
  IpPrefix range;  // length 0: any
  bool range_matches_nothing = false;
};

// NCCL_IB_ADDR_RANGE: ignored where the address is not of the family, has no '/', or the length is
// too long; a negative length matches nothing.
Wanted read_wanted(const Environment& environment) {
  Wanted wanted;
  const std::string* family = environment.get("NCCL_IB_ADDR_FAMILY");
  if (family && *family == "AF_INET6") wanted.family = Family::kIpv6;
  wanted.roce_version = environment.number("NCCL_IB_ROCE_VERSION_NUM", 2);
  const std::string* range = environment.get("NCCL_IB_ADDR_RANGE");
  if (!range) return wanted;
  const auto slash = range->find('/');
  if (slash == std::string::npos) return wanted;
  const auto address = parse_address(range->substr(0, slash));
  if (!address || address->family != wanted.family) return wanted;
  const long length = std::strtol(range->c_str() + slash + 1, nullptr, 10);
  if (length > static_cast<long>(address->bits())) return wanted;
  if (length < 0)
    wanted.range_matches_nothing = true;
  else
    wanted.range = {*address, static_cast<unsigned>(length)};
  return wanted;
}

bool in_range(const Wanted& wanted, const context::Gid& gid) {
  if (wanted.range_matches_nothing) return false;
  if (wanted.range.length == 0) return true;
  if (wanted.family == Family::kIpv6) {
    IpAddress whole{Family::kIpv6, gid};
    return wanted.range.contains(whole);
  }
  // Only the last four bytes are compared; the family is another test.
  IpAddress tail{Family::kIpv4, {}};
  std::copy(gid.begin() + 12, gid.end(), tail.bytes.begin());
  return wanted.range.contains(tail);
}

bool valid(const context::Gid& gid) {
  return !context::gid_zero(gid) && !context::gid_link_local(gid);
}

int version_of(const GidSlot& slot) {
  if (slot.type_error != 0) return -1;
  return slot.type == GidType::kRoceV2 ? 2 : slot.type == GidType::kUnknown ? -1 : 1;
}

// Reading a type fails the connection, but for EINVAL from 2.26 on.
bool read_fails(const GidSlot& slot, int version) {
  return slot.type_error != 0 &&
         !(slot.type_error == EINVAL && nccl_abi::kToleratesUnreadableGidType.has(version));
}

const char* version_text(const GidSlot& slot) {
  switch (version_of(slot)) {
    case 2:
      return "RoCE v2";
    case 1:
      return "RoCE v1";
    default:
      return "RoCE version unknown";
  }
}

GidPick pick_infiniband(const std::vector<GidSlot>& table, const Environment& environment,
                        int version) {
  const long routable = environment.number("NCCL_IB_ROUTABLE_FLID_GID_INDEX", 1);
  if (nccl_abi::kRoutableFlid.has(version) && routable < 0)
    return {
        -1, PickBasis::kNone,
        fmt::format("NCCL_IB_ROUTABLE_FLID_GID_INDEX={} is no index, and NCCL fails", routable)};
  if (nccl_abi::kRoutableFlid.has(version) && routable < static_cast<long>(table.size())) {
    const context::Gid& gid = table[static_cast<std::size_t>(routable)].raw;
    if (gid[4] != 0 || gid[5] != 0)
      return {static_cast<int>(routable), PickBasis::kRoutableFlid,
              fmt::format("InfiniBand: index {} has a routable FLID", routable)};
  }
  return {0, PickBasis::kInfiniband, "InfiniBand: index 0"};
}

// What the environment asks of a GID beyond what NCCL does by itself, the widest first.
std::string narrowed_by(const Wanted& wanted) {
  if (wanted.family == Family::kIpv6) return "NCCL_IB_ADDR_FAMILY";
  if (wanted.range.length != 0 || wanted.range_matches_nothing) return "NCCL_IB_ADDR_RANGE";
  return wanted.roce_version == 2 ? "" : "NCCL_IB_ROCE_VERSION_NUM";
}

std::string describe_fallback(const std::vector<GidSlot>& table, const Wanted& wanted) {
  const context::Gid& gid = table[0].raw;
  return fmt::format(
      "no {} GID qualifies{}: index 0 stays ({})", wanted.family == Family::kIpv4 ? "IPv4" : "IPv6",
      wanted.range.length != 0 || wanted.range_matches_nothing ? " in NCCL_IB_ADDR_RANGE" : "",
      context::gid_zero(gid)         ? "empty"
      : context::gid_link_local(gid) ? "link-local " + context::gid_text(gid)
                                     : context::gid_text(gid));
}

GidPick pick_roce(std::vector<GidSlot>& table, const Environment& environment, int version,
                  const TypeError& type_error) {
  const bool automatic = nccl_abi::kPicksGid.has(version);
  const long forced = environment.number("NCCL_IB_GID_INDEX", automatic ? -1 : 0);
  if (!automatic && !environment.get("NCCL_IB_GID_INDEX"))
    return {0, PickBasis::kFixedDefault, "index 0: this NCCL picks none by itself (2.21 does)"};
  if (forced >= static_cast<long>(table.size()) || (forced < 0 && !automatic))
    return {-1, PickBasis::kNone,
            fmt::format("NCCL_IB_GID_INDEX={} is no index of the table of {}, and NCCL fails",
                        forced, table.size()),
            true, "NCCL_IB_GID_INDEX"};
  if (forced >= 0)
    return {static_cast<int>(forced), PickBasis::kForced,
            fmt::format("forced by NCCL_IB_GID_INDEX={}", forced), true, "NCCL_IB_GID_INDEX"};

  const std::string* range = environment.get("NCCL_IB_ADDR_RANGE");
  if (range && !range->empty() && range->find('/') == std::string::npos &&
      nccl_abi::kNeedsSlashInRange.has(version))
    return {-1, PickBasis::kNone,
            fmt::format("NCCL_IB_ADDR_RANGE={} has no '/', on which this NCCL crashes", *range),
            true, "NCCL_IB_ADDR_RANGE"};
  const Wanted wanted = read_wanted(environment);
  std::vector<bool> read(table.size(), !type_error);
  std::size_t chosen = 0;
  bool certain = true;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const GidSlot& current = table[chosen];
    const GidSlot& candidate = table[i];
    const Family family = gid_address(candidate.raw).family;
    const bool fits = family == wanted.family && in_range(wanted, candidate.raw);
    if (!fits) continue;
    if (family != gid_address(current.raw).family) {
      chosen = i;
      continue;
    }
    if (!valid(candidate.raw)) continue;
    for (const std::size_t slot : {chosen, i}) {
      if (!read[slot]) table[slot].type_error = type_error(slot);
      read[slot] = true;
      if (read_fails(table[slot], version))
        return {-1, PickBasis::kNone,
                fmt::format("reading the type of GID {} fails with errno {}, and NCCL with it",
                            slot, table[slot].type_error)};
    }
    const int candidate_version = version_of(candidate);
    if (current.type_error != 0 && valid(current.raw) &&
        candidate_version == static_cast<int>(wanted.roce_version))
      certain = false;
    if ((version_of(current) != candidate_version || !valid(current.raw)) &&
        candidate_version == static_cast<int>(wanted.roce_version))
      chosen = i;
  }

  const GidSlot& slot = table[chosen];
  const int index = static_cast<int>(chosen);
  const bool fits = gid_address(slot.raw).family == wanted.family && in_range(wanted, slot.raw) &&
                    valid(slot.raw);
  if (!fits && chosen == 0)
    return {0, PickBasis::kFallback, describe_fallback(table, wanted), certain,
            narrowed_by(wanted)};
  const bool version_fits = version_of(slot) == static_cast<int>(wanted.roce_version);
  return {index, fits && version_fits ? PickBasis::kQualified : PickBasis::kOtherVersion,
          fmt::format("{} {} GID{}", version_text(slot),
                      wanted.family == Family::kIpv4 ? "IPv4" : "IPv6",
                      !fits          ? " that is empty or link-local"
                      : version_fits ? ""
                                     : fmt::format("; no RoCE v{} GID fits", wanted.roce_version)),
          certain, narrowed_by(wanted)};
}

}  // namespace

Environment Environment::of_process() {
  std::map<std::string, std::string, std::less<>> values;
  for (char** at = environ; at && *at; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos)
      values.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return Environment(std::move(values));
}

const std::string* Environment::get(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? nullptr : &it->second;
}

long Environment::number(std::string_view name, long fallback) const {
  const std::string* text = get(name);
  if (!text || text->empty()) return fallback;
  errno = 0;
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 0);
  if (end == text->c_str() && nccl_abi::kIgnoresNonNumbers.has(nccl_version_)) return fallback;
  return errno != 0 ? fallback : value;
}

HcaFilter HcaFilter::parse(const std::string* value, int version) {
  HcaFilter filter;
  if (!value) return filter;
  filter.given = true;
  filter.text = *value;
  std::string_view text = *value;
  if (text.starts_with('^')) {
    filter.exclude = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('=')) {
    filter.exact = true;
    text.remove_prefix(1);
  }
  const auto limit = static_cast<std::size_t>(max_ib_devices(version));
  while (!text.empty() && filter.entries.size() < limit) {
    const auto comma = text.find(',');
    const auto entry = text.substr(0, comma);
    if (nccl_abi::kRailsInHcaList.has(version))
      parse_with_rails(entry, filter.entries);
    else
      parse_plain(entry, filter.entries);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return filter;
}

const HcaEntry* HcaFilter::match(std::string_view device, int port) const {
  for (const HcaEntry& entry : entries) {
    const bool named = exact ? device == entry.name : device.starts_with(entry.name);
    if (named && (entry.port == -1 || entry.port == port)) return &entry;
  }
  return nullptr;
}

bool HcaFilter::takes(std::string_view device, int port) const {
  return (entries.empty() || match(device, port) != nullptr) != exclude;
}

GidPick pick_gid(const std::vector<GidSlot>& given, int link_layer, const Environment& environment,
                 int version, const TypeError& type_error) {
  std::vector<GidSlot> table = given;
  if (table.empty()) return {-1, PickBasis::kNone, "no GID table"};
  if (link_layer == kInfinibandLayer && nccl_abi::kRoutableFlid.has(version))
    return pick_infiniband(table, environment, version);
  GidPick pick = pick_roce(table, environment, version, type_error);
  // An old NCCL picks for InfiniBand as well, and does nothing with it where that works.
  if (link_layer == kInfinibandLayer && pick.index >= 0)
    return {0, PickBasis::kInfiniband, "InfiniBand: index 0"};
  return pick;
}

}  // namespace nnd::facts
