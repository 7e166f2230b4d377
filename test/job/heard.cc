#include "job/heard.h"

#include "cli/report/command.h"
#include "support/catch.h"

namespace nnd::test {

Heard report_of(const std::filesystem::path& dir) {
  cli::ReportOptions options;
  options.paths = {dir.string()};
  cli::Calling calling;
  calling.command = "report";
  calling.json = true;
  const auto answer = cli::report_job(options, calling);
  return {answer.verdict, answer.body.at("kind"), answer.body.at("blame"), answer.exit_code};
}

void check(const Heard& heard, const Expected& expected) {
  INFO(heard.line);
  INFO(expected.begins);
  INFO(expected.has);
  CHECK(heard.kind == report::name_of(expected.kind));
  CHECK(heard.blame == report::name_of(expected.blame));
  CHECK(heard.line.starts_with(expected.begins));
  CHECK((heard.line.find(expected.has) != std::string::npos));
  CHECK(heard.exit_code == (expected.kind >= report::Kind::kFailed ? 1 : 0));
}

}  // namespace nnd::test
