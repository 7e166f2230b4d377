#include "cli/common/answer.h"

#include <fmt/format.h>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/common/printable.h"

namespace nnd::cli {

namespace {

using nlohmann::json;

void print_json(const Calling& calling, int exit_code, const std::string& verdict, json body) {
  body["v"] = 1;
  body["command"] = calling.command;
  body["ok"] = exit_code == kFine;
  body["exit_code"] = exit_code;
  body["verdict"] = verdict;
  print_out(body.dump(2, ' ', true, json::error_handler_t::replace) + "\n");
}

int fail(const Calling& calling, const CallError& error) {
  if (calling.json)
    print_json(calling, error.exit_code(), error.what(), {{"error", error.to_json()}});
  else
    print_err(
        fmt::format("nccl-net-diag {}: {}\n", calling.command, printable_lines(error.what())));
  return error.exit_code();
}

std::string judgement(const Answer& answer, const Screen& screen) {
  if (!answer.judges) return {};
  if (answer.exit_code == kBroken) return screen.paint("not fine", Colour::kRed) + ": ";
  if (answer.exit_code != kFine) return screen.paint("incomplete", Colour::kYellow) + ": ";
  return (answer.warned ? screen.paint("works, with warnings", Colour::kYellow)
                        : screen.paint("fine", Colour::kGreen)) +
         ": ";
}

int show(const Calling& calling, const Answer& answer) {
  const int exit_code = answer.passed_on.value_or(answer.exit_code);
  if (answer.told) return exit_code;
  if (calling.json)
    print_json(calling, exit_code, answer.verdict, answer.body);
  else
    print_out(in_text(calling, answer));
  return exit_code;
}

}  // namespace

std::string in_text(const Calling& calling, const Answer& answer) {
  const Screen screen(calling);
  std::string out = screen.wrap(judgement(answer, screen) + answer.verdict, 2) + "\n";
  if (calling.brief) {
    for (const auto& line : answer.brief ? answer.brief() : std::vector<std::string>())
      out += line + "\n";
  } else if (answer.page) {
    const auto page = answer.page(screen);
    out += (page.empty() ? "" : "\n") + page;
  }
  return out;
}

int answer(const Calling& calling, const std::function<Answer()>& body) {
  try {
    return show(calling, body());
  } catch (const CallError& error) {
    return fail(calling, error);
  } catch (const std::exception& error) {
    return fail(calling, CallError(kNotExamined, "failed", error.what()));
  }
}

}  // namespace nnd::cli
