#include "config/settings.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>
#include <string_view>

#include "config/nearest.h"
#include "config/real.h"
#include "nccl_net_diag/events.h"

namespace nnd::config {

namespace {

constexpr std::string_view kPrefix = "NCCL_NET_DIAG_";

// Takes a value over, or says what is wrong with it and leaves the setting as it was.
using Take = void (*)(Settings&, const std::string& value, Complaint&);

struct Row {
  VariableDoc doc;
  Take take;
};

template <std::string Settings::*field>
void take_text(Settings& s, const std::string& value, Complaint&) {
  s.*field = value;
}

// The tool's, which the shim has no use for.
void take_nothing(Settings&, const std::string&, Complaint&) {}

template <std::string Settings::*field>
void take_pattern(Settings& s, const std::string& value, Complaint& complaint) {
  s.*field = value;
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 2)) {
    if (at + 1 < value.size() && std::strchr("hpujt%", value[at + 1]) != nullptr) continue;
    complaint.problem = "after % come h, p, u, j, t or %; the rest is taken as it stands";
    return;
  }
}

void take_disable(Settings& s, const std::string& value, Complaint& complaint) {
  if (value == "0" || value == "1")
    s.disable = value == "1";
  else
    complaint.problem = "is neither 0 nor 1; the shim stays on";
}

void take_max_mb(Settings& s, const std::string& value, Complaint& complaint) {
  constexpr std::uint32_t kMost = 1 << 20;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc{} && end == value.data() + value.size() && number >= 1 && number <= kMost)
    s.max_mb = number;
  else
    complaint.problem = "is no whole number from 1 to 1048576; 64 is used";
}

// "COUNT" or "COUNT,MIB".
void take_keep(Settings& s, const std::string& value, Complaint& complaint) {
  Keep keep = s.keep;
  keep.days = Keep::kAny;  // these numbers in place of an age
  const char* const end = value.data() + value.size();
  auto read = std::from_chars(value.data(), end, keep.files);
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == ',')
    read = std::from_chars(read.ptr + 1, end, keep.mb);
  constexpr std::uint64_t kMost = 1 << 30;
  if (read.ec == std::errc{} && read.ptr == end && keep.files <= kMost && keep.mb <= kMost)
    s.keep = keep;
  else
    complaint.problem = "is not a number of files, or one and a number of MiB; the default is used";
}

template <double Settings::*field>
void take_seconds(Settings& s, const std::string& value, Complaint& complaint) {
  std::string_view rest = value;
  const auto number = take_real(rest);
  if (number && rest.empty() && std::isfinite(*number) && *number > 0)
    s.*field = *number;
  else
    complaint.problem = "is no number of seconds above 0; the default is used";
}

void take_mode(Settings& s, const std::string& value, Complaint& complaint) {
  s.mode_given = true;
  const auto is = [&value](const char* mode) { return strcasecmp(value.c_str(), mode) == 0; };
  if (is("observe")) {
    s.mode = Mode::kObserve;
  } else if (is("warn")) {
    s.mode = Mode::kWarn;
  } else {
    s.mode = Mode::kEnforce;  // whoever sets a mode may rely on it: the strictest is the safe one
    if (is("enforce")) return;
    complaint.problem = "is no mode and counts as enforce; modes are observe, warn and enforce";
    complaint.nearest = nearest(value, {"observe", "warn", "enforce"});
  }
}

void take_stderr(Settings& s, const std::string& value, Complaint& complaint) {
  if (value == "off") {
    s.on_stderr = Stderr::kOff;
  } else if (value == "error") {
    s.on_stderr = Stderr::kError;
  } else if (value == "warn") {
    s.on_stderr = Stderr::kWarn;
  } else {
    complaint.problem = "is neither off nor error nor warn; error is used";
    complaint.nearest = nearest(value, {"off", "error", "warn"});
  }
}

// An address, with or without the length of its network.
bool is_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  std::array<unsigned char, 16> bytes{};
  const bool four = ::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1;
  if (!four && ::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return false;
  if (slash == std::string::npos) return true;
  const std::string length = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  return error == std::errc() && end == length.data() + length.size() && bits <= (four ? 32 : 128);
}

void take_peers(Settings& s, const std::string& value, Complaint& complaint) {
  if (value == "on" || value == "off") {
    s.peers = value == "on";
    return;
  }
  if (is_network(value)) {
    s.peers = true;
    s.peers_network = value.find('/') == std::string::npos
                          ? value + (value.find(':') == std::string::npos ? "/32" : "/128")
                          : value;
    return;
  }
  complaint.problem = "is neither on, off nor a network such as 10.1.0.0/16; off is used";
  complaint.nearest = nearest(value, {"on", "off"});
}

bool matches_an_event(const std::string& glob) {
  for (const std::string_view name : nccl_net_diag::kEventNames)
    if (::fnmatch(glob.c_str(), name.data(), 0) == 0) return true;
  return false;
}

void take_events(Settings& s, const std::string& value, Complaint& complaint) {
  s.events = value;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    const std::size_t first = value.find_first_not_of(" ^", at);
    if (first < comma) {
      std::string glob = value.substr(first, comma - first);
      glob.erase(glob.find_last_not_of(' ') + 1);
      if (!matches_an_event(glob)) {
        complaint.problem = "'" + glob + "' is the name of no event and matches none";
        complaint.nearest =
            nearest(glob, {nccl_net_diag::kEventNames.begin(), nccl_net_diag::kEventNames.end()});
        return;
      }
    }
    at = comma + 1;
  }
}

const Row kRows[] = {
    {{"NCCL_NET_DIAG_DISABLE", "0", "1: forward everything, log and refuse nothing"}, take_disable},
    {{"NCCL_NET_DIAG_INNER", "auto",
      "what to wrap: auto, IB, Socket, or another plugin by NCCL's own naming rules; auto is what "
      "NCCL would have loaded without the shim (libnccl-net.so), else IB"},
     take_text<&Settings::inner>},
    {{"NCCL_NET_DIAG_FILE", kDefaultFile,
      "event log, or a directory for logs; %h host, %p pid, %u uid, %j job id, %t start time; "
      "stderr, off; created anew, an existing name gets a suffix"},
     take_pattern<&Settings::file>},
    {{"NCCL_NET_DIAG_MAX_MB", "64",
      "size of a process's log at most; past it lines of healthy connections give way"},
     take_max_mb},
    {{"NCCL_NET_DIAG_KEEP", "those of 14 days, 4096 MiB of them",
      "how many logs and black boxes of ended processes stay in the default place, and MiB of "
      "them; a directory that you named is never swept"},
     take_keep},
    {{"NCCL_NET_DIAG_EVENTS", "all but req.*, without the steps of connections that go well",
      "comma-separated globs of event names to write, ^ excludes"},
     take_events},
    {{"NCCL_NET_DIAG_BLACKBOX",
      "beside the log (.nndbox) where that is on the node's own disk, else in "
      "/tmp/nccl-net-diag-UID",
      "black-box file pattern, or a directory for them, off; removed after a clean exit"},
     take_pattern<&Settings::blackbox>},
    {{"NCCL_NET_DIAG_POLICY", "/etc/nccl-net-diag/policy.toml if present", "policy file (TOML)"},
     take_text<&Settings::policy>},
    {{"NCCL_NET_DIAG_MODE", "the policy file's, else warn",
      "observe, warn, enforce; overrides the policy file; a misspelt one counts as enforce"},
     take_mode},
    {{"NCCL_NET_DIAG_STALL_SEC", "10", "age of a request that raises conn.stall"},
     take_seconds<&Settings::stall_sec>},
    {{"NCCL_NET_DIAG_CONNECT_SEC", "5", "age of a connection being made that raises conn.stall"},
     take_seconds<&Settings::connect_sec>},
    {{"NCCL_NET_DIAG_VERBS_LIB", "the one that NCCL opened",
      "verbs library that the verbs layer forwards to"},
     take_text<&Settings::verbs_lib>},
    {{"NCCL_NET_DIAG_SYSFS", "/sys", "root of the sysfs that facts are read from"},
     take_text<&Settings::sysfs>},
    {{"NCCL_NET_DIAG_STDERR", "error",
      "off, error, warn: sentences that also go to stderr, one a cause and process; none where "
      "NCCL_DEBUG=INFO prints them"},
     take_stderr},
    {{"NCCL_NET_DIAG_PROFILER", "auto",
      "auto: NCCL is given a profiler that knows ranks, peers and collectives, where no other is "
      "set or installed; off: it is not; another profiler plugin by NCCL's own naming rules: it "
      "is, "
      "and calls that one as well"},
     take_text<&Settings::profiler>},
    {{"NCCL_NET_DIAG_PEERS", "off",
      "on: while a job waits its processes ask each other for whom (UDP, sealed), and each names "
      "the one that everybody waits for; a network such as 10.1.0.0/16: only where NCCL's own "
      "sockets are in it"},
     take_peers},
    {{"NCCL_NET_DIAG_TOKEN", "", "the tool's: what all sides of a ping or a rehearse know"},
     take_nothing},
};

void take_variable(Settings& settings, const std::string& name, const std::string& value) {
  for (const Row& row : kRows) {
    if (name != row.doc.name) continue;
    Complaint complaint;
    if (!value.empty()) row.take(settings, value, complaint);  // empty is as good as not set
    if (complaint.problem.empty()) return;
    complaint.variable = name;
    complaint.value = value;
    settings.complaints.push_back(std::move(complaint));
    return;
  }
  std::vector<std::string_view> known;
  for (const Row& row : kRows)
    known.push_back(std::string_view(row.doc.name).substr(kPrefix.size()));
  const std::string close = nearest(std::string_view(name).substr(kPrefix.size()), known);
  // Without its value: a misspelt NCCL_NET_DIAG_TOKEN has a secret.
  settings.complaints.push_back({name, "", "is not a variable of nccl-net-diag and has no effect",
                                 close.empty() ? close : std::string(kPrefix) + close});
}

}  // namespace

Settings load_settings() {
  Settings settings;
  // A program with rights that its caller hasn't obeys none of the caller's variables.
  if (::getauxval(AT_SECURE) != 0) return settings;
  try {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const std::size_t equals = text.find('=');
      if (!text.starts_with(kPrefix) || equals == text.npos) continue;
      take_variable(settings, std::string(text.substr(0, equals)),
                    std::string(text.substr(equals + 1)));
    }
  } catch (const std::bad_alloc&) {
    // What was read so far holds.
  }
  return settings;
}

const std::vector<VariableDoc>& variable_docs() {
  static const auto* docs = [] {
    auto* made =
        new std::vector<VariableDoc>;  // lives as long as the process, exit handlers included
    for (const Row& row : kRows) made->push_back(row.doc);
    return made;
  }();
  return *docs;
}

}  // namespace nnd::config
