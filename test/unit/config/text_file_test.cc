#include "config/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::config;

namespace {

constexpr std::size_t kMost = 1024;

TextFile read(const std::string& file, AllowedFileType allowed = AllowedFileType::kRegularOrPipe) {
  return read_text_file(file, "list", kMost, allowed);
}

}  // namespace

TEST_CASE("a file is read whole, or not at all") {
  const nnd::test::TempDir dir;
  CHECK(read(dir.file("whole", std::string(kMost, 'a'))).text == std::string(kMost, 'a'));
  const TextFile larger = read(dir.file("larger", std::string(kMost + 1, 'a')));
  CHECK(larger.text.empty());
  CHECK(larger.problem == "is larger than 1 KiB, which no list is");
  CHECK(read_text_file("/dev/zero", "list", std::size_t{2} << 20, AllowedFileType::kRegularOrPipe)
            .problem == "is larger than 2 MiB, which no list is");
  CHECK(read("/dev/zero", AllowedFileType::kRegular).problem ==
        "can't be read: it is no regular file");
  CHECK(read(dir / "none").problem == "can't be read: No such file or directory");
  CHECK(read(dir.path()).problem == "can't be read: Is a directory");
}

TEST_CASE("a pipe is read until its writers are gone, and one without any is empty") {
  const nnd::test::TempDir dir;
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(read(dir / "fifo").problem.empty());
  CHECK(read(dir / "fifo", AllowedFileType::kRegular).problem ==
        "can't be read: it is no regular file");

  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  std::thread writer([&] {
    for (const char sign : std::string("two\n")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      CHECK(::write(ends[1], &sign, 1) == 1);
    }
    ::close(ends[1]);
  });
  const TextFile piped = read("/proc/self/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  CHECK(piped.problem.empty());
  CHECK(piped.text == "two\n");
}
