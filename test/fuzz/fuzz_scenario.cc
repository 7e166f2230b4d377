// A scenario is written by hand. Whatever it says, it is loaded or refused with a ScenarioError.
#include <string>

#include "softverbs/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    softverbs::parse_scenario(std::string(reinterpret_cast<const char*>(data), size), "fuzz.toml");
  } catch (const softverbs::ScenarioError&) {
  }
  return 0;
}
