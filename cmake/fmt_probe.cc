// Uses of fmt as the project has them: links if fmt_once.cc fits the fmt at hand.
#include <fmt/format.h>

#include <iterator>
#include <string>

int main(int argc, char** argv) {
  std::string text =
      fmt::format("{} {:.3f} {:x} {:>5} {} {:L}", argv[0], argc * 1.5, argc, "x", 1.5F, argc);
  fmt::format_to(std::back_inserter(text), "{:#x}{}", argc, true);
  fmt::memory_buffer buffer;
  fmt::format_to(std::back_inserter(buffer), "{}", static_cast<const void*>(argv));
  return static_cast<int>(text.size() + buffer.size());
}
