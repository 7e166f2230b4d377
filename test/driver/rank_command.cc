#include "driver/rank_command.h"

#include <cstdlib>
#include <sstream>

namespace nnd::driver {

std::vector<std::string> emulator() {
  const char* words = std::getenv("NND_EMULATOR");
  std::istringstream in(words != nullptr ? words : "");
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> rank_command() {
  auto out = emulator();
  out.emplace_back(NND_TEST_RANK);
  return out;
}

}  // namespace nnd::driver
