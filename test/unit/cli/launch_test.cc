// What `run` and `env` set, and what of the caller's they leave.
#include <map>

#include "cli/launch/variables.h"
#include "support/catch.h"

using namespace nnd::cli;

namespace {

using Set = std::map<std::string, std::string>;

Set variables(const Set& of_caller, bool by_name = false) {
  Set out;
  for (const auto& [name, value] :
       launch_variables({"/opt/d/lib/libnccl-net-diag.so", by_name}, [&](const std::string& name) {
         const auto found = of_caller.find(name);
         return found == of_caller.end() ? std::string() : found->second;
       }))
    CHECK(out.emplace(name, value).second);
  return out;
}

const Set kPath{{"NCCL_NET_PLUGIN", "/opt/d/lib/libnccl-net-diag.so"},
                {"NCCL_NET_PLUGIN_REF_COUNT", "1"}};

Set with(Set set, const std::string& name, const std::string& value) {
  set[name] = value;
  return set;
}

}  // namespace

TEST_CASE("the plugin by its path", "[launch]") {
  CHECK(variables({}) == kPath);
  CHECK(variables({{"LD_LIBRARY_PATH", "/a"}}) == kPath);
}

TEST_CASE("the plugin by its name, in front of the caller's directories", "[launch]") {
  const Set by_name{{"NCCL_NET_PLUGIN", "diag"}, {"NCCL_NET_PLUGIN_REF_COUNT", "1"}};
  CHECK(variables({}, true) == with(by_name, "LD_LIBRARY_PATH", "/opt/d/lib"));
  CHECK(variables({{"LD_LIBRARY_PATH", "/a:/b"}}, true) ==
        with(by_name, "LD_LIBRARY_PATH", "/opt/d/lib:/a:/b"));
}

TEST_CASE("a plugin that the caller had chosen is wrapped", "[launch]") {
  CHECK(variables({{"NCCL_NET_PLUGIN", "aws-ofi"}}) ==
        with(kPath, "NCCL_NET_DIAG_INNER", "aws-ofi"));
  CHECK(variables({{"NCCL_NET_PLUGIN", "none"}}) == with(kPath, "NCCL_NET_DIAG_INNER", "IB"));
  CHECK(variables({{"NCCL_NET_PLUGIN", "aws-ofi"}, {"NCCL_NET_DIAG_INNER", "IB"}}) == kPath);
  // Itself, however it was named: `run` within `run`.
  for (const char* own : {"diag", "libnccl-net-diag.so", "/elsewhere/libnccl-net-diag.so"})
    CHECK(variables({{"NCCL_NET_PLUGIN", own}}) == kPath);
}

TEST_CASE("a value for a shell", "[launch]") {
  CHECK(as_export({"A", "/it's $here"}) == "export A='/it'\\''s $here'\n");
}
