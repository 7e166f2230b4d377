#include "job_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

namespace softcuda {

namespace {

// What a user or a launcher tells the processes of a job.
bool is_of_a_job(std::string_view variable) {
  constexpr std::array<std::string_view, 6> kPrefixes{"NCCL_", "UCX_",  "SLURM_",
                                                      "OMPI_", "PMIX_", "PMI_"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

std::string list_of(const std::vector<PciAddress>& gpus) {
  std::string list;
  for (const PciAddress& gpu : gpus) list += (list.empty() ? "" : ",") + to_string(gpu);
  return list;
}

}  // namespace

Variables own_variables(const JobSpec& spec) {
  Variables all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!spec.inherit_nccl_settings && is_of_a_job(text)) continue;
    if (const auto at = text.find('='); at != std::string_view::npos)
      all[std::string(text.substr(0, at))] = text.substr(at + 1);
  }
  return all;
}

void let_give_way(Variables& variables, int ranks) {
  // A rank has three threads that spin: the caller's, the proxy's, a kernel's.
  const unsigned spinning = 3U * static_cast<unsigned>(ranks);
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  if (spinning > cores)
    variables.emplace("SOFTCUDA_GIVE_WAY", std::to_string((spinning + cores - 1) / cores));
}

std::string host_id(int node) { return fmt::format("softnode{}", node); }

void add_library_path(Variables& variables, const std::vector<std::string>& directories) {
  std::string& path = variables["LD_LIBRARY_PATH"];
  for (auto directory = directories.rbegin(); directory != directories.rend(); ++directory)
    path = *directory + (path.empty() ? "" : ":") + path;
  if (path.empty()) variables.erase("LD_LIBRARY_PATH");
}

Variables program_variables(const JobSpec& spec, int node, const std::filesystem::path& runtime) {
  Variables all = own_variables(spec);
  all["NCCL_HOSTID"] = host_id(node);
  let_give_way(all, spec.ranks());
  for (const auto& [name, value] : spec.environment) all[name] = value;
  if (const auto own = spec.node_environment.find(node); own != spec.node_environment.end())
    for (const auto& [name, value] : own->second) all[name] = value;
  add_library_path(all, spec.library_path);
  std::string& preload = all["LD_PRELOAD"];
  preload = runtime.string() + (preload.empty() ? "" : ":") + preload;
  all["SOFTCUDA_GPUS"] = list_of(spec.gpus);
  if (spec.nvswitch) all["SOFTCUDA_NVSWITCH"] = "1";
  if (const auto sysfs = spec.sysfs.find(node); sysfs != spec.sysfs.end())
    all["SOFTCUDA_SYSFS"] = sysfs->second;
  return all;
}

std::vector<std::string> lines_of(const Variables& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace softcuda
