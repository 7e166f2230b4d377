#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "record/event.h"
#include "record/recorder.h"
#include "support/catch.h"

using namespace nnd::record;

TEST_CASE("an event becomes a line") {
  char dir[] = "/tmp/nnd-record-XXXXXX";
  REQUIRE(::mkdtemp(dir) != nullptr);
  nnd::config::Settings settings;
  settings.file = std::string(dir) + "/log.jsonl";
  start(settings);
  REQUIRE(running());
  CHECK(log_place() == "event log " + settings.file);
  Event(EventId::kQpTransition)
      .add("conn", 7)
      .object("qp")
      .hex("num", 0x1a5)
      .add("from", "INIT")
      .end()
      .add("dur_us", 1.5)
      .emit();
  stop();
  CHECK_FALSE(running());
  std::ifstream log(settings.file);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["ev"] == "qp.transition");
  CHECK(lines[0]["qp"]["num"] == "0x1a5");
  CHECK(lines[0]["conn"] == 7);
  CHECK(lines[0]["seq"] == 0);
  CHECK(lines[1]["ev"] == "summary");
  CHECK(::access((std::string(dir) + "/log.nndbox").c_str(), F_OK) != 0);
  ::unlink(settings.file.c_str());
  CHECK(::rmdir(dir) == 0);
}
