#include <algorithm>
#include <cstdio>

#include "softverbs/scenario_parse.h"

namespace softverbs {

namespace {

std::string place(const char* pattern, std::size_t number) {
  char text[16];
  std::snprintf(text, sizeof text, pattern, static_cast<unsigned>(number));
  return text;
}

bool is_taken(const Host& host, const std::string& pci) {
  const auto holds = [&pci](const auto& device) {
    return device.pci == pci || device.parent.find(pci) != std::string::npos;
  };
  return std::any_of(host.hcas.begin(), host.hcas.end(), holds) ||
         std::any_of(host.gpus.begin(), host.gpus.end(), holds);
}

Gpu next_gpu(const Host& host) {
  const std::size_t number = host.gpus.size();
  const std::string parent = number < host.hcas.size() ? host.hcas[number].parent
                                                       : place("0000:%02x:01.0", 0x0f + number * 3);
  std::size_t bus = 0x11 + number * 3;
  while (bus < 0xff && is_taken(host, place("0000:%02x:00.0", bus))) ++bus;
  return {place("0000:%02x:00.0", bus), parent, 0};
}

// That of an HCA below the same root port.
int numa_at(const Host& host, const std::string& parent) {
  const auto root_port = [](const std::string& chain) { return chain.substr(0, chain.find('/')); };
  const auto near = std::find_if(host.hcas.begin(), host.hcas.end(), [&](const Hca& hca) {
    return root_port(hca.parent) == root_port(parent);
  });
  return near == host.hcas.end() ? 0 : near->numa;
}

}  // namespace

void add_gpus(Host& host, int count) {
  for (int i = 0; i < count; ++i) {
    Gpu gpu = next_gpu(host);
    gpu.numa = numa_at(host, gpu.parent);
    host.gpus.push_back(std::move(gpu));
  }
}

void parse_gpus(const toml::table& table, Host& host, const ParseState& state) {
  TomlReader outer(table, "[[host.gpu]]", state.file);
  const auto count = outer.number("count", 1, 1, 16);
  for (int i = 0; i < count; ++i) {
    TomlReader reader(table, "[[host.gpu]]", state.file, {{'i', i}});
    reader.number("count", 1, 1, 16);
    Gpu gpu = next_gpu(host);
    read_place(reader, gpu.pci, gpu.parent);
    if (gpu.pci.empty()) reader.fail("pci", "a GPU has a PCI address");
    gpu.numa = static_cast<int>(reader.number("numa", numa_at(host, gpu.parent), -1, 64));
    reader.finish();
    host.gpus.push_back(std::move(gpu));
  }
}

}  // namespace softverbs
