// Answers of NCCL 2.28.9, shortened.
#include "scoreboard/ras.h"

#include "support/catch.h"

using namespace nnd::scoreboard;

namespace {

std::string answer(const std::string& errors, const std::string& warnings) {
  return "NCCL version 2.28.9 compiled with CUDA 12.9\n\nCommunicators... (0.001s)\n"
         "=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    0         1         1         2         2         2   RUNNING      OK\n\n"
         "Errors\n======\n\n" +
         errors + "Warnings\n========\n\n" + warnings;
}

}  // namespace

TEST_CASE("RAS finds nothing", "[said]") { CHECK(ras_says(answer("", "")) == "healthy"); }

TEST_CASE("RAS's first finding is told, without addresses and process numbers", "[said]") {
  const std::string error =
      "#0-0 (e14c4428cc124cf2) ERROR\n"
      "  Asynchronous error on 1 rank\n"
      "  Rank 1 reported Remote process error -- GPU 0 managed by process 314 on node "
      "127.0.0.1\n\n";
  const std::string mismatch =
      "#0-0 (e14c4428cc124cf2) MISMATCH\n"
      "  Communicator ranks have different AllReduce operation counts\n"
      "  Rank 0 has launched up to operation 5 -- GPU 0 managed by process 313 on node 127.0.0.1\n"
      "  Rank 1 has launched up to operation 4 -- GPU 0 managed by process 314 on node "
      "127.0.0.1\n\n";
  CHECK(ras_says(answer(error, mismatch)) ==
        "ERROR: Asynchronous error on 1 rank; Rank 1 reported Remote process error");
  CHECK(ras_says(answer("", mismatch)) ==
        "MISMATCH: Communicator ranks have different AllReduce operation counts; Rank 0 has "
        "launched up to operation 5; Rank 1 has launched up to operation 4");
}

TEST_CASE("RAS doesn't answer, or not to the end", "[said]") {
  CHECK(ras_says("") == "no answer");
  const std::string whole = answer("", "");
  CHECK(ras_says(whole.substr(0, whole.find("Warnings"))) == "no answer");
}
