// What a person would do who follows an advice that the product prints.
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>

namespace nnd::test {

// The environment after it: "NCCL_IB_HCA==mlx5_0,mlx5_1.", "Unset NCCL_IB_GID_INDEX", "unset it"
// (the variable that the line is about). Nothing where there is nothing that a variable could do;
// NCCL_DEBUG is for looking.
inline std::optional<std::map<std::string, std::string>> followed(
    const std::string& fix, const std::string& variable,
    std::map<std::string, std::string> environment) {
  bool any = false;
  static const std::regex set(R"((NCCL_(?!DEBUG=)[A-Z0-9_]+)=([^\s;)]*[^\s;).,]))");
  for (auto at = std::sregex_iterator(fix.begin(), fix.end(), set); at != std::sregex_iterator();
       ++at) {
    environment[(*at)[1]] = (*at)[2];
    any = true;
  }
  static const std::regex unset(R"([Uu]nset (it|NCCL_[A-Z0-9_]+))");
  for (auto at = std::sregex_iterator(fix.begin(), fix.end(), unset);
       !any && at != std::sregex_iterator(); ++at) {
    environment.erase((*at)[1] == "it" ? variable : (*at)[1].str());
    any = true;
  }
  return any ? std::optional(environment) : std::nullopt;
}

}  // namespace nnd::test
