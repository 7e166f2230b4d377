// What is wrong with a call or keeps it from being carried out, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace nnd::cli {

class CallError : public std::runtime_error {
 public:
  // kind: a word for programs, such as "unknown-collective". exit_code: kWrongCall or kNotExamined.
  CallError(int exit_code, std::string kind, const std::string& message, std::string value = "",
            std::string nearest = "")
      : std::runtime_error(message),
        exit_code_(exit_code),
        kind_(std::move(kind)),
        value_(std::move(value)),
        nearest_(std::move(nearest)) {}

  int exit_code() const { return exit_code_; }
  const std::string& kind() const { return kind_; }

  // {"kind", "message"}, and "value" and "nearest" where there are such.
  nlohmann::json to_json() const {
    nlohmann::json out{{"kind", kind_}, {"message", what()}};
    if (!value_.empty()) out["value"] = value_;
    if (!nearest_.empty()) out["nearest"] = nearest_;
    return out;
  }

 private:
  int exit_code_;
  std::string kind_, value_, nearest_;
};

}  // namespace nnd::cli
