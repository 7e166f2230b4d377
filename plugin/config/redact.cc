#include "config/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "config/nccl_variables.h"
#include "config/settings.h"

namespace nnd::config {

namespace {

// Of UCX 1.8 to 1.18 (ucx_info -c): what a user sets for the network.
constexpr auto kOfUcx = std::to_array<std::string_view>({
    "UCX_IB_GID_INDEX",
    "UCX_IB_GPU_DIRECT_RDMA",
    "UCX_IB_PCI_RELAXED_ORDERING",
    "UCX_IB_PKEY",
    "UCX_IB_REG_METHODS",
    "UCX_IB_SL",
    "UCX_IB_TRAFFIC_CLASS",
    "UCX_LOG_FILE",
    "UCX_LOG_LEVEL",
    "UCX_MAX_EAGER_RAILS",
    "UCX_MAX_RNDV_RAILS",
    "UCX_MEMTYPE_CACHE",
    "UCX_NET_DEVICES",
    "UCX_RC_RETRY_COUNT",
    "UCX_RC_TIMEOUT",
    "UCX_RNDV_SCHEME",
    "UCX_RNDV_THRESH",
    "UCX_SOCKADDR_TLS_PRIORITY",
    "UCX_TLS",
});
static_assert(std::is_sorted(kOfUcx.begin(), kOfUcx.end()));

bool is_setting(std::string_view name) {
  const auto& all = variable_docs();
  return std::any_of(all.begin(), all.end(), [&](const auto& doc) { return name == doc.name; });
}

bool sounds_secret(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const char* word :
       {"SECRET", "TOKEN", "PASS", "PWD", "PIN", "CREDENTIAL", "KEY", "AUTH", "CODE"})
    if (upper.find(word) != std::string::npos) return true;
  return false;
}

bool is_known(std::string_view name) {
  const auto nccl = network_variables();
  return std::binary_search(nccl.begin(), nccl.end(), name) ||
         std::binary_search(kOfUcx.begin(), kOfUcx.end(), name) ||
         (is_setting(name) && !sounds_secret(name));
}

bool is_short_number(std::string_view value) {
  constexpr std::size_t kDigits = 7;
  if (value.starts_with('-')) value.remove_prefix(1);
  return !value.empty() && value.size() <= kDigits &&
         value.find_first_not_of("0123456789") == value.npos;
}

// "postgres://user:password@host/base?sslkey=x": "postgres://host/base". Any word of a list.
std::string without_userinfo(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const auto end = std::min(value.find_first_of(", \t"), value.size());
    std::string_view word = value.substr(0, end);
    if (const auto scheme = word.find("://"); scheme != word.npos) {
      out += word.substr(0, scheme + 3);
      word = word.substr(scheme + 3);
      word = word.substr(0, word.find_first_of("?#"));
      // A password may have a slash in it that nobody has escaped: all before the last @ goes.
      if (const auto user = word.rfind('@'); user != word.npos) word = word.substr(user + 1);
    }
    out += word;
    if (end < value.size()) out += value[end];
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return out;
}

}  // namespace

std::string shown_value(std::string_view name, std::string_view value) {
  if (is_known(name)) return without_userinfo(value);
  if (is_short_number(value) && !sounds_secret(name)) return std::string(value);
  return "<hidden>";
}

}  // namespace nnd::config
