// A black box may be anybody's: nothing that a terminal obeys comes out of it.
#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/common/call_error.h"
#include "cli/common/printable.h"
#include "cli/common/screen.h"
#include "cli/decode/command.h"
#include "living.h"
#include "support/catch.h"
#include "support/made_box.h"
#include "support/temp_dir.h"

using namespace nnd::cli;

namespace {

// Escapes, C1 controls in both forms, a direction turned, HTML.
const std::string kHostile = "\x1b[31m<b>\xc2\x9b\x9b\xe2\x80\xae\x07";

Answer decode_box(const std::filesystem::path& path) {
  DecodeOptions options;
  options.boxes = {path.string()};
  return decode(options);
}

bool is_tame(const std::string& text) {
  return text.find('\x1b') == text.npos && text.find('\x07') == text.npos &&
         text.find('\x9b') == text.npos && text.find("\xe2\x80\xae") == text.npos;
}

}  // namespace

TEST_CASE("what a terminal obeys is replaced, and all else stays", "[printable]") {
  CHECK(is_tame(printable(kHostile)));
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x99\x82") ==
        "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x99\x82");
  CHECK(printable("a\nb") == "a?b");
  CHECK(printable("\xc0\xaf\xed\xa0\x80\xf5") == "??????");
  CHECK(printable("cut \xe6\x97") == "cut ??");
}

TEST_CASE("a box with names that a terminal would obey", "[decode]") {
  const nnd::test::TempDir dir;
  const auto path = dir.path() / "a.nndbox";
  dir.file("a.nndbox", nnd::test::made_box({.times = {103, 104}, .name = kHostile, .slots = true}));
  const auto answer = decode_box(path);
  const auto page = answer.page(Screen());
  CHECK(page.find("<b>") != page.npos);  // the names are there
  CHECK(is_tame(answer.verdict));
  CHECK(is_tame(page));
  for (const auto& line : answer.brief()) CHECK(is_tame(line));
  CHECK(answer.body["boxes"][0]["connections"].size() == 1);
  CHECK(answer.body["boxes"][0]["communicators"].size() == 1);
  CHECK(answer.body["boxes"][0]["events"].size() == 2);
}

TEST_CASE("a damaged box with such names", "[decode]") {
  const nnd::test::TempDir dir;
  auto bytes = nnd::test::made_box({.times = {103, 104}, .name = kHostile, .slots = true});
  for (const std::size_t cut : {bytes.size() - 8, bytes.size() / 2, std::size_t{600}}) {
    dir.file("b.nndbox", bytes.substr(0, cut));
    try {
      const auto answer = decode_box(dir.path() / "b.nndbox");
      CHECK(is_tame(answer.verdict + answer.page(Screen())));
    } catch (const std::exception& error) {
      CHECK(is_tame(error.what()));
    }
  }
}

TEST_CASE("the box of a living process", "[decode]") {
  const nnd::test::TempDir dir;
  const nnd::test::Living process(
      dir / "log.jsonl", [] { nnd::test::open_connection(nnd::state::ConnectionKind::kSend); });
  DecodeOptions options;
  options.live = process.pid();
  nlohmann::json box;
  for (int i = 0; i < 3000 && (box.is_null() || box["connections"].empty()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    try {
      box = decode(options).body["boxes"][0];
    } catch (const CallError& error) {
      CHECK(error.kind() == "no-box");  // it has none yet
    }
  }
  REQUIRE(box["connections"].size() == 1);
  CHECK(box["living"] == true);
  CHECK(box["pid"] == process.pid());
  CHECK(box["connections"][0]["started"] == 2);
  CHECK(box["log"].get<std::string>().ends_with("/log.jsonl"));
}
