// How a subcommand ends: one exit code, one sentence, and what it rests on; for people or for
// programs, in the same form for all of them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/calling.h"
#include "cli/common/screen.h"

namespace nnd::cli {

struct Answer {
  int exit_code = 0;                                // exit_code.h
  std::optional<int> passed_on;                     // that of a program which was run, in its place
  std::string verdict;                              // one sentence or two
  nlohmann::json body = nlohmann::json::object();   // what it rests on, for programs
  std::function<std::string(const Screen&)> page;   // the same for people
  std::function<std::vector<std::string>()> brief;  // one line for each thing that was looked at
  bool warned = false;                              // it works, but there is something to read
  bool judges = true;                               // else the verdict is no judgement, only words
  bool told = false;                                // nothing is to be shown any more
};

// Of a call that has shown all itself.
inline Answer already_told(int exit_code) {
  Answer out;
  out.exit_code = exit_code;
  out.told = true;
  return out;
}

// For people, as answer() shows it.
std::string in_text(const Calling& calling, const Answer& answer);

// Runs the body and shows what it answers; gives the exit code.
//
// As JSON: {"v", "command", "ok", "exit_code", "verdict"} and the members of `body`. As text: the
// verdict, then the page, or the brief lines where they are asked for. An exception of the body's
// is an answer too: {"error": {"kind", "message", and "value", "nearest" where there are such}}, or
// a line on stderr. CallError has its exit code, any other exception is kNotExamined.
int answer(const Calling& calling, const std::function<Answer()>& body);

}  // namespace nnd::cli
