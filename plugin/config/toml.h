// toml++ as it is used here: its code compiled once (toml.cc), without exceptions. The library
// asserts what a wrong file can break ("[!]" in 3.3) and finds the error a step later; with NDEBUG
// it has Clang take the assertions for granted, so they say nothing here.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_ASSERT(expr) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
