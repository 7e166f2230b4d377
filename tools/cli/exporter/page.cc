#include "cli/exporter/page.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/exporter/exposition.h"

namespace nnd::cli {

namespace {

constexpr unsigned kOk = 200, kNotFound = 404, kNotAllowed = 405;
constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Whoever names it reads it: Prometheus does, with others behind it.
bool wants_open_metrics(std::string accept) {
  std::transform(accept.begin(), accept.end(), accept.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view kType = "application/openmetrics-text";
  for (std::string_view rest = accept; !rest.empty();) {
    const auto comma = rest.find(',');
    std::string_view type = rest.substr(0, comma);
    type = type.substr(0, type.find(';'));
    type.remove_prefix(std::min(type.find_first_not_of(" \t"), type.size()));
    type = type.substr(0, type.find_last_not_of(" \t") + 1);
    if (type == kType) return true;
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return false;
}

HttpReply sentence(unsigned status, const char* text) {
  return {status, kPlain, std::make_shared<const std::string>(text), ""};
}

}  // namespace

void MetricsPage::show(const Families& families) {
  text_ = std::make_shared<const std::string>(exposition(families, TextFormat::kPrometheus));
  open_metrics_ =
      std::make_shared<const std::string>(exposition(families, TextFormat::kOpenMetrics));
}

HttpReply MetricsPage::answer(const HttpRequest& request) const {
  const bool metrics = request.path == "/metrics";
  if (!metrics && request.path != "/-/healthy")
    return sentence(kNotFound, "There are /metrics and /-/healthy.\n");
  if (request.method != "GET" && request.method != "HEAD") {
    auto out = sentence(kNotAllowed, "It can only be read.\n");
    out.allow = "GET, HEAD";
    return out;
  }
  if (!metrics) return sentence(kOk, "It looks and answers.\n");
  if (wants_open_metrics(request.accept)) return {kOk, kOpenMetrics, open_metrics_, ""};
  return {kOk, kText, text_, ""};
}

}  // namespace nnd::cli
