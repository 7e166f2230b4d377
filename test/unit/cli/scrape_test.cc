// What a scrape gets, and where `--listen` says that it is asked for.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/exporter/listen.h"
#include "cli/exporter/page.h"
#include "support/catch.h"

namespace nnd::cli {

namespace {

MetricsPage made_page() {
  MetricsPage page;
  page.show({{"n_bytes", MetricType::kCounter, "Bytes.", {{{}, 7}}}});
  return page;
}

// Of a listening socket that is closed again.
std::string page_at(const std::string& where) {
  const auto at = listen_for_scrapes(where);
  ::close(at.fd);
  return at.page;
}

int code_of(const std::string& where) {
  try {
    page_at(where);
  } catch (const CallError& error) {
    CHECK(std::string(error.what()).starts_with("--listen " + where + ": "));
    return error.exit_code();
  }
  return kFine;
}

}  // namespace

TEST_CASE("who names OpenMetrics gets it, and others Prometheus' text", "[exporter]") {
  const MetricsPage page = made_page();
  const auto is_open = [&](const std::string& accept) {
    const HttpReply reply = page.answer({"GET", "/metrics", accept});
    CHECK(reply.status == 200);
    const bool open = reply.body->ends_with("# EOF\n");
    CHECK(reply.type == (open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                              : "text/plain; version=0.0.4; charset=utf-8"));
    CHECK(reply.body->find("\nn_bytes_total 7\n") != std::string::npos);
    return open;
  };
  CHECK(is_open("application/openmetrics-text"));
  CHECK(is_open("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"));
  CHECK(is_open("text/html, \tApplication/OpenMetrics-Text ; version=0.0.1;q=0.75,*/*;q=0.1"));
  CHECK_FALSE(is_open(""));
  CHECK_FALSE(is_open("*/*"));
  CHECK_FALSE(is_open("text/plain;version=0.0.4"));
  CHECK_FALSE(
      is_open("application/openmetrics-text-2, ,;,text/plain;application/openmetrics-text"));
}

TEST_CASE("there are two paths, and two methods", "[exporter]") {
  const MetricsPage page = made_page();
  const auto status_of = [&](const std::string& method, const std::string& path) {
    const HttpReply reply = page.answer({method, path, ""});
    CHECK(reply.body->ends_with("\n"));
    CHECK(reply.allow == (reply.status == 405 ? "GET, HEAD" : ""));
    return reply.status;
  };
  for (const char* const path : {"/metrics", "/-/healthy"}) {
    CHECK(status_of("GET", path) == 200);
    CHECK(status_of("HEAD", path) == 200);
    for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""})
      CHECK(status_of(method, path) == 405);
  }
  for (const char* const path : {"/", "", "/metrics/", "/Metrics", "/-/", "/metrics/../metrics"})
    CHECK(status_of("GET", path) == 404);
}

TEST_CASE("a port by itself is for this host, and what is no address is refused", "[exporter]") {
  CHECK(page_at("0").starts_with("http://127.0.0.1:"));
  CHECK(page_at("127.0.0.2:0").starts_with("http://127.0.0.2:"));
  for (const char* const wrong : {"", "x", "65536", "-1", ":9988", "::1", "::1:9988", "[::1]",
                                  "[::1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:99999"})
    CHECK(code_of(wrong) == kWrongCall);
  CHECK(code_of("192.0.2.1:0") == kNotExamined);  // no address of this host
}

TEST_CASE("an address of IPv6 stands in brackets", "[exporter]") {
  const int probe = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return;  // a host without IPv6
  ::close(probe);
  CHECK(page_at("[::]:0").starts_with("http://[::]:"));
}

TEST_CASE("a port that another has is named", "[exporter]") {
  const auto first = listen_for_scrapes("0");
  const auto port = first.page.substr(17, first.page.find('/', 17) - 17);
  CHECK(code_of(port) == kNotExamined);
  ::close(first.fd);
}

}  // namespace nnd::cli
