#include "facts/sysfs.h"

#include <sys/stat.h>

#include <cerrno>

#include "support/catch.h"
#include "tree.h"

using namespace nnd::facts;
using nnd::facts::test::Tree;

TEST_CASE("files are read with a bound and without waiting") {
  Tree tree;
  tree.write("a/number", "42\n").write("a/long", std::string(9000, 'x')).write("a/empty", "");
  tree.write("a/word", "fast\n");
  const FileTree files(tree.root());
  CHECK(files.read("a/number").text == "42");
  CHECK(files.read_number("a/number") == 42);
  CHECK_FALSE(files.read_number("a/word").has_value());
  CHECK_FALSE(files.read_number("a/none").has_value());
  CHECK(files.read("a/long").text.size() == 4096);
  CHECK(files.read("a/long", 10).text.size() == 10);
  CHECK(files.read("a/empty").ok());
  CHECK(files.read("a/none").error == ENOENT);
  CHECK(files.read("a").error == EISDIR);
  CHECK(files.list("a") == std::vector<std::string>{"empty", "long", "number", "word"});
  CHECK(files.list("none").empty());
  // a FIFO with no writer would hold a blocking reader for ever
  REQUIRE(mkfifo(files.absolute("a/fifo").c_str(), 0600) == 0);
  CHECK(files.read("a/fifo").text.empty());
}

TEST_CASE("links are followed and stay within the root") {
  Tree tree;
  tree.write("devices/pci/0000:c1:00.0/numa_node", "1\n")
      .link("class/infiniband/mlx5_0", "../../devices/pci/0000:c1:00.0")
      .link("class/absolute", "/sys/devices/pci/0000:c1:00.0")
      .link("class/own", tree.root() + "/devices/pci")
      .link("class/outside", "../../../../../../../../etc")
      .link("class/loop", "loop")
      .link("class/dangling", "../nowhere");
  const FileTree files(tree.root());
  CHECK(files.resolve("class/infiniband/mlx5_0") == "devices/pci/0000:c1:00.0");
  CHECK(files.resolve("class/infiniband/mlx5_0/numa_node") == "devices/pci/0000:c1:00.0/numa_node");
  CHECK(files.resolve("class/absolute") == "devices/pci/0000:c1:00.0");
  CHECK(files.resolve("class/own/0000:c1:00.0") == "devices/pci/0000:c1:00.0");
  CHECK_FALSE(files.resolve("class/outside").has_value());
  CHECK_FALSE(files.resolve("class/loop").has_value());
  CHECK_FALSE(files.resolve("class/dangling").has_value());
  CHECK_FALSE(files.resolve("class/none").has_value());
  CHECK(files.resolve("class/../class/./infiniband") == "class/infiniband");
}
