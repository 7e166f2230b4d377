// Whether a libnccl prints what tools/foreign says that its release prints, and nothing that it
// says of others only: sayings LIBNCCL VERSION. Exit code 77: there is no such file.
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "foreign/nccl_sayings.h"

namespace {

// As a string of its own, not as the end of a longer one.
bool prints(const std::string& library, std::string_view format) {
  const std::string wanted = std::string(format) + '\0';
  for (auto at = library.find(wanted); at != std::string::npos; at = library.find(wanted, at + 1)) {
    const char before = at == 0 ? '\0' : library[at - 1];
    if (std::isalpha(static_cast<unsigned char>(before)) == 0 && before != ' ') return true;
  }
  return false;
}

std::size_t conversions(std::string_view format) {
  std::size_t out = 0;
  for (const char c : format) out += c == '%';
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  int major = 0, minor = 0, patch = 0;
  if (argc != 3 || std::sscanf(argv[2], "%d.%d.%d", &major, &minor, &patch) != 3) return 2;
  if (!std::filesystem::exists(argv[1])) return 77;
  const int release = major * 10000 + minor * 100 + patch;
  std::ostringstream bytes;
  bytes << std::ifstream(argv[1], std::ios::binary).rdbuf();
  const std::string library = bytes.str();
  int wrong = 0;
  for (const auto& saying : nnd::foreign::nccl_sayings()) {
    const bool expected = saying.from <= release && (saying.to == 0 || release <= saying.to);
    const bool found = prints(library, saying.format);
    const std::string format(saying.format);
    if (found != expected)
      std::printf("%s has %s: %s\n", argv[2],
                  found ? "what the table does not say" : "no such string", format.c_str());
    if (conversions(saying.format) != saying.values.size())
      std::printf("as many values as conversions: %s\n", format.c_str());
    wrong += found != expected || conversions(saying.format) != saying.values.size();
  }
  return wrong == 0 ? 0 : 1;
}
