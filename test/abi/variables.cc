// NCCL's variables as the shim knows them, against the strings of one official library:
// variables LIBNCCL. Prints those of the list that it has; exits with 1 where a name that it has
// would be called misspelt.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "config/nccl_variables.h"

namespace {

bool of_a_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Whole strings that begin with NCCL_ and are names.
std::set<std::string> names_in(const std::string& library) {
  std::set<std::string> out;
  for (auto at = library.find("NCCL_"); at != library.npos; at = library.find("NCCL_", at + 1)) {
    if (at != 0 && library[at - 1] != '\0') continue;
    auto end = at;
    while (end < library.size() && of_a_name(library[end])) ++end;
    if (end < library.size() && library[end] == '\0') out.insert(library.substr(at, end - at));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream in(argc == 2 ? argv[1] : "", std::ios::binary);
  const std::string library{std::istreambuf_iterator<char>(in), {}};
  const auto names = names_in(library);
  if (names.size() < 100) {
    std::fprintf(stderr, "only %zu names in %s\n", names.size(), argc == 2 ? argv[1] : "");
    return 1;
  }
  int wrong = 0;
  for (const auto& name : names)
    if (const auto meant = nnd::config::meant_variable(name); !meant.empty()) {
      std::printf("%s would be called a misspelling of %.*s\n", name.c_str(),
                  static_cast<int>(meant.size()), meant.data());
      ++wrong;
    }
  const auto known = nnd::config::network_variables();
  std::printf("%td of the %zu variables are in this library\n",
              std::count_if(known.begin(), known.end(),
                            [&](const auto name) { return names.contains(std::string(name)); }),
              known.size());
  return wrong == 0 ? 0 : 1;
}
