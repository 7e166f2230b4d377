#include "foreign/traceback.h"

#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

std::vector<Fact> raised(const std::string& output) {
  std::vector<Fact> out;
  Tracebacks tracebacks([&](Fact&& fact) { out.push_back(std::move(fact)); });
  std::istringstream in(output);
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) tracebacks.take(line, ++number);
  return out;
}

// As Python prints it, behind a prefix.
std::string traceback(const std::string& prefix, const std::string& exception, int line = 212) {
  std::string out;
  for (const std::string& text :
       {std::string("Traceback (most recent call last):"),
        std::string("  File \"/home/me/train.py\", line ") + std::to_string(line) + ", in step",
        std::string("    loss.backward()"), std::string("    ^^^^^^^^^^^^^^^"),
        std::string("  File \"/opt/env/lib/python3.11/site-packages/torch/_tensor.py\", line 1, in "
                    "backward"),
        exception})
    out += prefix + text + "\n";
  return out;
}

}  // namespace

TEST_CASE("an exception, where the program's own code raised it, and in which rank",
          "[traceback]") {
  const auto all = raised("Epoch 1\n" + traceback("[rank3]: ", "KeyError: 'x'"));
  REQUIRE(all.size() == 1);
  CHECK(all[0].what == What::kRaised);
  CHECK(all[0].source == Source::kOutput);
  CHECK(all[0].text == "KeyError: 'x'");
  CHECK(all[0].place == "train.py:212 in step");
  CHECK(all[0].writer.rank == 3);
  CHECK_FALSE(all[0].on_node);
  CHECK(all[0].line == 7);
}

TEST_CASE("launchers' prefixes", "[traceback]") {
  CHECK(raised(traceback("[1,7]<stderr>:", "ValueError"))[0].writer.rank == 7);
  CHECK(raised(traceback(" 5: ", "ValueError: x"))[0].writer.rank == 5);
  const auto local = raised(traceback("[default2]:", "ValueError: x"));
  CHECK(local[0].writer.rank == 2);
  CHECK(local[0].on_node);
  CHECK_FALSE(raised(traceback("10:20:30 ", "ValueError: x"))[0].writer.rank);
  const std::string ray = "(Worker pid=7702) ERROR 02-11 19:40:06 base.py:382] ";
  CHECK(raised(traceback(ray, "ValueError: x"))[0].text == "ValueError: x");
}

TEST_CASE("two ranks' lines between each other's, and NCCL's", "[traceback]") {
  std::istringstream one(traceback("[rank0]: ", "ValueError: a")),
      two(traceback("[rank1]: ", "KeyError: b", 7));
  std::string mixed, line;
  while (std::getline(one, line)) {
    mixed += line + "\nnode1:1:2 [0] NCCL WARN Cuda failure 'x'\n";
    if (std::getline(two, line)) mixed += line + "\n";
  }
  const auto all = raised(mixed);
  REQUIRE(all.size() == 2);
  CHECK(all[0].text == "ValueError: a");
  CHECK(all[1].place == "train.py:7 in step");
}

TEST_CASE("one whose beginning was cut off, and torchelastic's of its summary", "[traceback]") {
  const auto whole = traceback("", "FileNotFoundError: [Errno 2] No such file");
  CHECK(raised(whole.substr(whole.find('\n') + 1)).size() == 1);
  const auto all = raised(
      "  traceback : Traceback (most recent call last):\n"
      "    File \"/home/me/train.py\", line 5, in main\n      step()\n  RuntimeError: shapes "
      "differ\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].text == "RuntimeError: shapes differ");
  CHECK(all[0].place == "train.py:5 in main");
}

TEST_CASE("one of which only the last line was copied, with PyTorch's mark", "[traceback]") {
  const auto all = raised(
      "[rank2]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 336.00 MiB.\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].writer.rank == 2);
  CHECK(all[0].text.starts_with("torch.cuda.OutOfMemoryError: CUDA out of memory"));
  CHECK(all[0].place.empty());
  CHECK(raised("[rank2]: my.module: hello\n[rank2]: KeyError\n[rank2]: Error\n").empty());
  CHECK(raised(traceback("[rank1]: ", "KeyError: b", 7)).size() == 1);
}

TEST_CASE("what ends no process, and what is no exception", "[traceback]") {
  CHECK(raised("Exception in thread Thread-1:\n" + traceback("", "KeyError: 'x'")).empty());
  CHECK(raised("Exception ignored in: <function f>\n" + traceback("", "KeyError: 'x'")).empty());
  CHECK(raised(traceback("", "INFO: goes on")).empty());
  CHECK(raised("KeyError: 'x'\n").empty());
  CHECK(raised("Traceback (most recent call last):\n").empty());
}

TEST_CASE("it says which line it told", "[traceback]") {
  Tracebacks tracebacks([](Fact&&) {});
  CHECK_FALSE(tracebacks.take("RuntimeError: alone", 1));
  CHECK_FALSE(tracebacks.take("Traceback (most recent call last):", 2));
  CHECK_FALSE(tracebacks.take("  File \"train.py\", line 1, in step", 3));
  CHECK(tracebacks.take("RuntimeError: x", 4));
  CHECK_FALSE(tracebacks.take("RuntimeError: x", 5));
}
