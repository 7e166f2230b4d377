#include "cli/report/restart_text.h"

#include <fmt/format.h>

#include <array>

#include "cli/report/names.h"

namespace nnd::cli {

namespace {

using report::Restart;

constexpr std::array kReaches{"nothing",
                              "one process: its program, its GPU, or who ended it",
                              "one HCA, with its cable and switch port",
                              "one node",
                              "two ends, or what lies between them",
                              "a rail",
                              "the fabric",
                              "the whole job: its processes or settings don't fit together",
                              "nobody knows how far"};

std::string places_text(const std::vector<report::Place>& places) {
  std::vector<std::string> names;
  for (const auto& place : places) names.push_back(place_text(place));
  return list(names);
}

std::string again_text(const Restart& restart) {
  switch (restart.retry) {
    case Restart::Retry::kNotNeeded:
      return "Nothing failed.";
    case Restart::Retry::kAsIs:
      return "The same job may run as it is.";
    case Restart::Retry::kWithout:
      return "Leave out what is to blame.";
    case Restart::Retry::kAfterFix:
      return "It would fail again: mend it first.";
    case Restart::Retry::kUnknown:
      break;
  }
  return "Whether it would fail again, nothing here tells.";
}

}  // namespace

std::vector<std::string> restart_lines(const Restart& restart) {
  std::vector<std::string> out{
      fmt::format("It reaches {} ({}).", kReaches.at(static_cast<std::size_t>(restart.domain)),
                  report::name_of(restart.confidence)),
      again_text(restart)};
  if (!restart.exclude.empty())
    out.push_back(fmt::format("To blame: {}.", places_text(restart.exclude)));
  if (!restart.suspects.empty())
    out.push_back(fmt::format("One of these may be to blame: {}.", places_text(restart.suspects)));
  return out;
}

}  // namespace nnd::cli
