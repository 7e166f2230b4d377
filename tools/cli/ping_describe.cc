#include "cli/ping_describe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "cli/check_examine.h"
#include "cli/check_result.h"
#include "driver/error.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

// An emulated host has a name of its own.
std::string host_name() {
  if (const char* const emulated = std::getenv("SOFTVERBS_HOST"); emulated != nullptr)
    return emulated;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// "2.28.9" as NCCL counts since 2.9: 22809.
int version_code(const std::string& text) {
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(text.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3) return 0;
  return major * 10000 + minor * 100 + patch;
}

json check_of(const std::string& nccl, const std::string& host) {
  CheckInput input;
  input.nccl_version = version_code(nccl);
  input.host = host;
  return check_result(examine(input), {});
}

}  // namespace

json describe_ping_host(const PingHost& host, const PingTick& tick) {
  json out{{"host", host_name()}, {"devices", json::array()}, {"settings", ping_settings()}};
  try {
    PingRank rank(host, "describe", tick);
    auto loaded = rank.load();
    const int init = loaded.at("init_rc");
    if (init != 0) {
      const auto words = rank.last_words();
      out["problem"] = fmt::format("the transport's init returned {}{}{}", init,
                                   words.empty() ? "" : ": ", words);
    }
    rank.end();
    for (const auto& device : loaded.at("devices"))
      out["devices"].push_back(
          fmt::format("{}:{}", device.value("name", ""), device.value("port", 0)));
    for (const char* key : {"nccl", "nccl_path", "net_version", "plugin"})
      out[key] = loaded.at(key);
    out["check"] = check_of(out["nccl"], out["host"]);
  } catch (const PingStopped& stopped) {
    out["problem"] = stopped.what();
  } catch (const std::exception& error) {
    out["problem"] = error.what();
  }
  return out;
}

}  // namespace nnd::cli
