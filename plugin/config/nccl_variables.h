// NCCL's variables that are about networks, and those that are a letter off one of them, as its
// official libraries 2.18.1 to 2.32.3 read them
// (their own strings; ctest -R abi.variables compares).
#pragma once

#include <span>
#include <string_view>

namespace nnd::config {

std::span<const std::string_view> network_variables();  // in the order of their names

// The one of them that a name is a misspelling of; empty where it is one itself, or like none.
std::string_view meant_variable(std::string_view name);

}  // namespace nnd::config
