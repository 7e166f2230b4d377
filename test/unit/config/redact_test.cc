#include "config/redact.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

using nnd::config::shown_value;

namespace {

// What people put into a job's environment under a prefix that NCCL or UCX would have. None of
// these values is, or was, of anybody's.
const std::vector<std::string_view> kNames{
    "API_PWD",       "API_JWT",        "API_BEARER", "DSN",           "DATABASE_URL",
    "REDIS",         "WANDB",          "HF",         "S3_SIG",        "WEBHOOK",
    "LICENSE",       "COOKIE",         "SESSION",    "OTP",           "PASSPHRASE",
    "PRIVATE",       "CERT",           "SIGNATURE",  "api_token",     "Password",
    "LOGIN",         "NET_PLUGIN_PW",  "MONGO_URI",  "SENTRY",        "SLACK",
    "NET_DIAG_TOKN", "NET_DIAG_TOKEN", "IB_SECRET",  "PLUGIN_CONFIG", "REGISTRY_PULL"};
const std::vector<std::string_view> kSecrets{"hunter2",
                                             "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
                                             "postgres://trainer:s3cr3t@db.example/jobs",
                                             "AKIAEXAMPLEEXAMPLE00",
                                             "-----BEGIN PRIVATE KEY-----",
                                             "https://hooks.example/services/T0/B0/abcdef",
                                             "48151623"};

// What a URL that may be shown hides.
struct Url {
  std::string_view value, shown;
};

}  // namespace

TEST_CASE("no secret is shown, whatever its name and its look") {
  int tried = 0;
  for (const std::string_view prefix : {"NCCL_", "UCX_"})
    for (const std::string_view name : kNames)
      for (const std::string_view secret : kSecrets) {
        INFO(prefix << name << "=" << secret);
        CHECK(shown_value(std::string(prefix) + std::string(name), secret) == "<hidden>");
        ++tried;
      }
  CHECK(tried >= 200);
}

TEST_CASE("a short number is shown unless its name sounds like a secret's") {
  CHECK(shown_value("NCCL_LL128_NTHREADS", "512") == "512");
  CHECK(shown_value("NCCL_NVB_DISABLE", "-1") == "-1");
  CHECK(shown_value("NCCL_LOGIN_PIN", "4711") == "<hidden>");
  CHECK(shown_value("NCCL_DOOR_CODE", "4711") == "<hidden>");
  CHECK(shown_value("NCCL_LL128_NTHREADS", "") == "<hidden>");
}

TEST_CASE("known variables are shown, without what a URL hides") {
  CHECK(shown_value("NCCL_IB_PKEY", "1") == "1");
  CHECK(shown_value("NCCL_IB_HCA", "=mlx5_0,mlx5_1") == "=mlx5_0,mlx5_1");
  CHECK(shown_value("NCCL_NET_DIAG_MODE", "warn") == "warn");
  CHECK(shown_value("UCX_TLS", "rc,sm") == "rc,sm");
  CHECK(shown_value("NCCL_COMM_ID", "10.0.0.1:4711") == "10.0.0.1:4711");
  for (const Url& url :
       std::vector<Url>{{"https://ana:pa/ss@log.example/x?sig=abc", "https://log.example/x"},
                        {"a,https://t@h.example:80,b", "a,https://h.example:80,b"},
                        {"https://h.example/#token=1 c", "https://h.example/ c"},
                        {"plain@host", "plain@host"}})
    CHECK(shown_value("NCCL_DEBUG_FILE", url.value) == url.shown);
}
