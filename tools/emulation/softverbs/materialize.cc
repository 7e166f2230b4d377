#include <unistd.h>

#include <cstdlib>

#include "softverbs/belonging.h"
#include "softverbs/cpu.h"
#include "softverbs/file_tree.h"
#include "softverbs/hostview.h"
#include "softverbs/scenario.h"
#include "softverbs/sysfs_tree.h"

namespace softverbs {

namespace fs = std::filesystem;

fs::path library_dir() {
  if (const char* given = std::getenv("SOFTVERBS_LIBDIR")) return given;
  return belonging(SOFTVERBS_INSTALL_DIR "/libibverbs.so.1", SOFTVERBS_BUILD_DIR "/libibverbs.so.1")
      .parent_path();
}

namespace {

// NCCL asks for the names without a version first, which a package for the machine's own verbs may
// have brought. Packages of the stand-ins can't hold links.
fs::path under_all_names(const fs::path& folder) {
  fs::create_directories(folder);
  for (const std::string name : {"libibverbs.so", "libmlx5.so"})
    for (const auto& link : {name, name + ".1"}) {
      std::error_code is_there;
      fs::create_symlink(fs::absolute(library_dir()) / (name + ".1"), folder / link, is_there);
    }
  return folder;
}

}  // namespace

Environment materialize(const Scenario& scenario, const std::string& host_name, const fs::path& dir,
                        const fs::path& fabric_dir) {
  const Host* host = scenario.find_host(host_name);
  if (!host)
    throw ScenarioError(scenario.file.string() + ": there is no host \"" + host_name + "\"");
  fs::create_directories(dir);
  const FileTree tree(dir);
  tree.directory("class/infiniband");
  tree.directory("class/infiniband_verbs");
  for (const Hca& hca : host->hcas) {
    write_pci(tree, hca);
    write_infiniband(tree, hca);
  }
  for (const Gpu& gpu : host->gpus) write_gpu(tree, gpu);
  write_cpus(tree, *host);
  write_netdevs(tree, *host);
  tree.file("nnd-netlink.json", netlink_json(*host));
  for (const auto& [path, content] : host->sysfs) {
    if (content)
      tree.file(path, *content);
    else
      tree.remove(path);
  }
  Environment environment = {{"SOFTVERBS_SCENARIO", fs::absolute(scenario.file).string()},
                             {"SOFTVERBS_HOST", host_name},
                             {"SOFTVERBS_DIR", fs::absolute(fabric_dir).string()},
                             {"NCCL_NET_DIAG_SYSFS", fs::absolute(dir).string()},
                             {"NCCL_SOCKET_IFNAME", "lo"}};
  const char* before = std::getenv("LD_LIBRARY_PATH");
  environment["LD_LIBRARY_PATH"] = under_all_names(fs::absolute(fabric_dir) / "lib").string() +
                                   (before && *before ? std::string(":") + before : "");
  return environment;
}

}  // namespace softverbs
