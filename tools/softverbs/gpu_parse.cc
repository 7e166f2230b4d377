#include <algorithm>
#include <cstdio>

#include "softverbs/scenario_parse.h"

namespace softverbs {

void parse_gpus(const toml::table& table, Host& host, const ParseState& state) {
  TomlReader outer(table, "[[host.gpu]]", state.file);
  const auto count = outer.number("count", 1, 1, 16);
  for (int i = 0; i < count; ++i) {
    const int device = static_cast<int>(host.gpus.size());
    TomlReader reader(table, "[[host.gpu]]", state.file, {{'i', i}});
    reader.number("count", 1, 1, 16);
    Gpu gpu;
    char place[16];
    std::snprintf(place, sizeof place, "0000:%02x:00.0", 0x11 + device * 3);
    gpu.pci = reader.text("pci", place);
    std::snprintf(place, sizeof place, "0000:%02x:01.0", 0x0f + device * 3);
    gpu.parent = reader.text("parent", place);
    const auto near = std::find_if(host.hcas.begin(), host.hcas.end(),
                                   [&](const Hca& hca) { return hca.parent == gpu.parent; });
    gpu.numa =
        static_cast<int>(reader.number("numa", near == host.hcas.end() ? 0 : near->numa, -1, 64));
    reader.finish();
    host.gpus.push_back(std::move(gpu));
  }
}

}  // namespace softverbs
