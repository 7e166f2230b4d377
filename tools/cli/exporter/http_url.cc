#include "cli/exporter/http_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

namespace {

constexpr const char* kUsualPort = "4318";
constexpr const char* kUsualPath = "/v1/metrics";
constexpr std::size_t kLongest = 2048;

CallError refusal(const std::string& text, const char* why) {
  return {kWrongCall, "otlp", fmt::format("--otlp {}: {}", text, why), text};
}

bool goes_into_a_request(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace

std::string HttpUrl::text() const { return "http://" + at.text() + path; }

HttpUrl otlp_url(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  constexpr const char* kForm = "it takes http://HOST[:PORT][/PATH], as http://127.0.0.1:4318";
  if (text.starts_with("https://"))
    throw refusal(text,
                  "TLS is not spoken here: send to a collector on this host, which does, as "
                  "http://127.0.0.1:4318");
  if (!text.starts_with(kScheme) || text.size() > kLongest || !goes_into_a_request(text))
    throw refusal(text, kForm);
  const auto slash = text.find('/', kScheme.size());
  const std::string host = text.substr(kScheme.size(), slash - kScheme.size());
  if (host.find('@') != std::string::npos)
    throw refusal(text, "a name and a password are not sent");
  if (text.find('#') != std::string::npos || host.find('?') != std::string::npos)
    throw refusal(text, kForm);
  const auto address = parse_tcp_address(host, kUsualPort);
  if (!address) throw refusal(text, kForm);
  HttpUrl out{*address, slash == std::string::npos ? "" : text.substr(slash)};
  if (out.path.empty() || out.path == "/") out.path = kUsualPath;
  return out;
}

}  // namespace nnd::cli
