// What is sent to a receiver of OTLP, to whom, and what is made of its answers.
#include "cli/exporter/otlp.h"

#include <nlohmann/json.hpp>
#include <string>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/exporter/http_post.h"
#include "cli/exporter/http_url.h"
#include "cli/exporter/otlp_push.h"
#include "support/catch.h"

namespace nnd::cli {

namespace {

using nlohmann::json;

constexpr std::uint64_t kNow = 1'800'000'000'000'000'000;

Families made(double bytes) {
  const Labels port{{"device", "mlx5_0"}, {"port", "1"}};
  const auto bucket = [&](const char* bound, double value) {
    Labels labels = port;
    labels.emplace_back("le", bound);
    return Sample{labels, value};
  };
  return {{"n", MetricType::kInfo, "The exporter.", {{{{"version", "1"}}, 1}}},
          {"n_bytes", MetricType::kCounter, "Bytes.", {{port, bytes}}},
          {"n_stall_seconds", MetricType::kGauge, "Waits.", {{port, 12.5}}},
          {"n_took_seconds",
           MetricType::kHistogram,
           "Times.",
           {bucket("1.024e-06", 1), bucket("4.096e-06", 3), bucket("+Inf", 7)}},
          {"n_none", MetricType::kCounter, "Nothing.", {}}};
}

json metrics_of(const std::string& request) {
  const json parsed = json::parse(request);
  REQUIRE(parsed.size() == 1);
  REQUIRE(parsed["resourceMetrics"].size() == 1);
  const json& one = parsed["resourceMetrics"][0];
  REQUIRE(one["scopeMetrics"].size() == 1);
  json out;
  for (const json& metric : one["scopeMetrics"][0]["metrics"])
    out[metric["name"].get<std::string>()] = metric;
  return out;
}

json text_attributes(const json& of) {
  json out = json::object();
  for (const json& one : of["attributes"]) out[one["key"]] = one["value"]["stringValue"];
  return out;
}

int code_of(const std::string& url) {
  try {
    otlp_url(url);
  } catch (const CallError& error) {
    CHECK(std::string(error.what()).starts_with("--otlp " + url + ": "));
    return error.exit_code();
  }
  return kFine;
}

}  // namespace

TEST_CASE("each type becomes OTLP's", "[otlp]") {
  OtlpEncoder encoder("node1");
  const std::string request = encoder.encode(made(100), kNow);
  const json resource = json::parse(request)["resourceMetrics"][0]["resource"];
  CHECK(text_attributes(resource)["host.name"] == "node1");
  CHECK(text_attributes(resource)["service.instance.id"] == "node1");
  CHECK(text_attributes(resource)["service.name"] == "nccl-net-diag");
  const json metrics = metrics_of(request);
  CHECK(metrics.size() == 4);  // one without a point would be none

  const json& bytes = metrics["n_bytes_total"];
  CHECK(bytes["unit"] == "By");
  CHECK(bytes["description"] == "Bytes.");
  CHECK(bytes["sum"]["isMonotonic"] == true);
  CHECK(bytes["sum"]["aggregationTemporality"] == 2);
  const json& point = bytes["sum"]["dataPoints"][0];
  CHECK(point["asDouble"] == 100);
  CHECK(point["timeUnixNano"] == std::to_string(kNow));
  CHECK(text_attributes(point) == json{{"device", "mlx5_0"}, {"port", "1"}});

  CHECK(metrics["n_info"]["sum"]["isMonotonic"] == false);
  CHECK(metrics["n_stall_seconds"]["unit"] == "s");
  CHECK(metrics["n_stall_seconds"]["gauge"]["dataPoints"][0]["asDouble"] == 12.5);
  CHECK_FALSE(metrics["n_stall_seconds"]["gauge"]["dataPoints"][0].contains("startTimeUnixNano"));

  const json& took = metrics["n_took_seconds"]["histogram"];
  CHECK(took["aggregationTemporality"] == 2);
  CHECK(took["dataPoints"].size() == 1);
  CHECK(took["dataPoints"][0]["count"] == 7);
  CHECK(took["dataPoints"][0]["explicitBounds"] == json{1.024e-06, 4.096e-06});
  CHECK(took["dataPoints"][0]["bucketCounts"] == json{1, 2, 4});
  CHECK(text_attributes(took["dataPoints"][0]) == json{{"device", "mlx5_0"}, {"port", "1"}});
}

TEST_CASE("a sum starts when it was seen first, and anew when it has been away", "[otlp]") {
  OtlpEncoder encoder("node1");
  const auto start = [&](const Families& families, std::uint64_t now) {
    const json metrics = metrics_of(encoder.encode(families, now));
    for (const char* const type : {"sum", "histogram"})
      for (const json& metric : metrics)
        if (metric.contains(type))
          CHECK(metric[type]["dataPoints"][0]["startTimeUnixNano"] ==
                metrics["n_info"]["sum"]["dataPoints"][0]["startTimeUnixNano"]);
    return std::stoull(
        metrics["n_info"]["sum"]["dataPoints"][0]["startTimeUnixNano"].get<std::string>());
  };
  CHECK(start(made(1), kNow) == kNow);
  CHECK(start(made(2), kNow + 15) == kNow);
  encoder.encode({}, kNow + 30);
  CHECK(start(made(1), kNow + 45) == kNow + 45);
}

TEST_CASE("a label that is no UTF-8 is sent as what can be sent", "[otlp]") {
  OtlpEncoder encoder(
      "no\xff"
      "de");
  const std::string request =
      encoder.encode({{"n", MetricType::kGauge, "x", {{{{"netdev", "e\xff\"\n"}}, 1}}}}, kNow);
  const json point = metrics_of(request)["n"]["gauge"]["dataPoints"][0];
  CHECK(text_attributes(point)["netdev"] == "e\xEF\xBF\xBD\"\n");
}

TEST_CASE("where it is sent to", "[otlp]") {
  CHECK(otlp_url("http://127.0.0.1").text() == "http://127.0.0.1:4318/v1/metrics");
  CHECK(otlp_url("http://node1:9/").text() == "http://node1:9/v1/metrics");
  CHECK(otlp_url("http://[::1]:9/a/b?c=d").text() == "http://[::1]:9/a/b?c=d");
  CHECK(otlp_url("http://[::1]").at.port == "4318");
  for (const char* const wrong :
       {"", "x", "node1:4318", "HTTP://x", "http://", "http://:4318", "http:///v1/metrics",
        "http://x:70000", "http://x:no", "http://a b/", "http://x/\r\nX: y", "http://u:p@x/",
        "http://x/#y", "http://x?y", "https://x:4318", "grpc://x"})
    CHECK(code_of(wrong) == kWrongCall);
  CHECK(code_of("http://x/" + std::string(5000, 'y')) == kWrongCall);
}

TEST_CASE("an answer is read as far as it says", "[otlp]") {
  const auto whole = [](const std::string& text) { return read_answer(text, true).value(); };
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
  CHECK_FALSE(read_answer(head.substr(0, 20), false));
  CHECK_FALSE(read_answer(head + "{", false));
  CHECK(read_answer(head + "{}", false)->body == "{}");
  CHECK(read_answer(head + "{}more", false)->body == "{}");
  CHECK(read_answer("HTTP/1.1 204 No Content\r\n\r\n", false)->status == 204);
  CHECK(read_answer("HTTP/1.1 100 Continue\r\n\r\n" + head + "{}", false)->status == 200);
  CHECK_FALSE(read_answer("HTTP/1.1 100 Continue\r\n\r\n", false));
  CHECK_FALSE(read_answer("HTTP/1.1 200 OK\r\n\r\nuntil it hangs up", false));
  CHECK(whole("HTTP/1.1 200 OK\r\n\r\nall").body == "all");
  CHECK(whole("HTTP/1.0 503 Busy\r\nRETRY-AFTER:  7 \r\n\r\n").retry_after_sec == 7u);
  CHECK_FALSE(whole("HTTP/1.1 503 Busy\r\nRetry-After: -1\r\n\r\n").retry_after_sec);
  CHECK_FALSE(whole("HTTP/1.1 503 B\r\nRetry-After: 99999999999999\r\n\r\n").retry_after_sec);
  CHECK(whole("HTTP/1.1 307 There\r\nLocation: http://y/\r\n\r\n").location == "http://y/");
  for (const char* const none : {"", "HTTP/1.1 200", "HTTP/1.1 x00 OK\r\n\r\n", "\r\n\r\n\r\n",
                                 "HTTP/1.1 999 No\r\n\r\n", "HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n"}) {
    CHECK(whole(none).status == 0);
    CHECK_FALSE(whole(none).why.empty());
  }
  CHECK(read_answer("SSH-2.0-OpenSSH_9\r\n", false)->status == 0);  // it need not be waited for
  CHECK(read_answer("HTTP/1.1 200 OK\r\nX: " + std::string(kMostAnswer, 'x'), true)->status == 0);
}

TEST_CASE("what an answer means", "[otlp]") {
  CHECK(complaint_of({.status = 200, .body = "{\"partialSuccess\":{}}"}).empty());
  CHECK(complaint_of({.status = 202}).empty());
  CHECK(complaint_of({.status = 200, .body = "[not json"}).empty());
  CHECK(complaint_of({.status = 200,
                      .body = "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\","
                              "\"errorMessage\":\"too\\u001b[2Jold\"}}"}) ==
        "it leaves out 3 data points: too?[2Jold");
  CHECK(complaint_of({.status = 307, .location = "http://y/"}) == "status 307, it is at http://y/");
  CHECK(complaint_of({.status = 404, .body = "no\nsuch"}) == "status 404: no?such");
  CHECK(complaint_of({.status = 500, .body = std::string(9999, 'x')}).size() < 300);
  CHECK(complaint_of({.why = "errno 111 (Connection refused)"}) ==
        "errno 111 (Connection refused)");
  for (const unsigned status : {0u, 429u, 502u, 503u, 504u})
    CHECK(may_be_sent_again({.status = status}));
  for (const unsigned status : {200u, 301u, 400u, 401u, 404u, 413u, 500u, 501u})
    CHECK_FALSE(may_be_sent_again({.status = status}));
}

TEST_CASE("tries come further and further apart, to a minute", "[otlp]") {
  Backoff backoff;
  CHECK(backoff.next(0) == 0.5);
  CHECK(backoff.next(1) == 3);
  CHECK(backoff.next(0.5) == 4);
  for (int i = 0; i < 100; ++i) CHECK(backoff.next(1) <= 1.5 * Backoff::kLongestSec);
  CHECK(backoff.next(0.5) == Backoff::kLongestSec);
  CHECK(backoff.next(0.5, 120) == 120);
  CHECK(backoff.next(0.5, 4'000'000'000) == Backoff::kMostAskedSec);
  backoff.reset();
  CHECK(backoff.next(0.5) == Backoff::kFirstSec);
}

}  // namespace nnd::cli
