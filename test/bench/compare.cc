#include "compare.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "support/temp_dir.h"

namespace bench {

int compare(int argc, char** argv, nlohmann::json (*measure)(const Arguments& arguments)) {
  if (argc != 4) {
    std::fprintf(stderr, "%s LIBNCCL SCENARIO ROUNDS\n", argv[0]);
    return 2;
  }
  try {
    const nnd::test::TempDir directory;
    std::puts(measure({argv[1], argv[2], std::atoi(argv[3]), directory.path()}).dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
  return 0;
}

nnd::driver::RankOptions rank_on(nnd::emulated::Fabric& fabric, std::size_t host,
                                 const std::string& name) {
  auto options = fabric.rank(host, name);
  options.environment["NCCL_NET_DIAG_FILE"] = (fabric.dir() / "%p.jsonl").string();
  return options;
}

nnd::driver::Transport transport(const std::string& nccl, bool shim) {
  nnd::driver::Transport made;
  made.nccl = nccl;
  (shim ? made.plugin : made.builtin) = shim ? nnd::emulated::plugin_file().string() : "IB";
  return made;
}

}  // namespace bench
