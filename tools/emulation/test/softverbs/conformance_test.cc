// The written list, against the stand-in in its various looks.
#include "stage.h"
#include "support/catch.h"

namespace {

void run_list(const std::string& hca) {
  stage::Stage stage("[[host]]\n[[host.hca]]\n" + hca);
  auto list = stage.run("node0", {NND_VERBS_CONFORMANCE});
  int passed = 0;
  for (std::string line = list->listen(); !line.empty(); line = list->listen()) {
    INFO(line);
    CHECK(line.substr(0, 4) != "FAIL");
    passed += line.substr(0, 2) == "ok" ? 1 : 0;
  }
  CHECK(passed >= 49);
  CHECK(list->wait() == 0);
}

}  // namespace

TEST_CASE("conformance: RoCE, as mlx5") { run_list("address = \"10.0.0.1/24\"\n"); }

TEST_CASE("conformance: RoCE, as soft-RoCE") {
  run_list("look = \"rxe\"\nname = \"rxe0\"\naddress = \"10.0.0.1/24\"\n");
}

TEST_CASE("conformance: InfiniBand") { run_list("link_layer = \"infiniband\"\n"); }
