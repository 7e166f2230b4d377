#include "visible_gpus.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

namespace softcuda {
namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// Cuts the text up to the next comma off; nullopt at the end.
std::optional<std::string_view> next(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const auto end = text.find(',');
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return word;
}

}  // namespace

std::vector<PciAddress> parse_gpus(std::string_view text) {
  constexpr unsigned kGpus = 8, kFirstBus = 0x10;
  std::vector<PciAddress> gpus;
  if (text.empty())
    for (unsigned i = 0; i < kGpus; ++i) gpus.push_back({.bus = kFirstBus + i});
  while (const auto word = next(text)) {
    const auto pci = parse_pci(*word);
    if (!pci) break;
    gpus.push_back(*pci);
  }
  return gpus;
}

std::vector<PciAddress> visible_of(const std::vector<PciAddress>& node, std::string_view text) {
  std::vector<PciAddress> gpus;
  while (const auto word = next(text)) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), index);
    if (error != std::errc{} || end != word->data() + word->size() || index >= node.size()) break;
    gpus.push_back(node[index]);
  }
  return gpus;
}

std::vector<PciAddress> node_gpus() { return parse_gpus(variable("SOFTCUDA_GPUS")); }

bool node_has_nvswitch() { return variable("SOFTCUDA_NVSWITCH") == "1"; }

void see_visible_gpus() {
  static std::once_flag once;
  std::call_once(once, [] {
    const bool all = std::getenv("CUDA_VISIBLE_DEVICES") == nullptr;
    set_gpus(all ? node_gpus() : visible_of(node_gpus(), variable("CUDA_VISIBLE_DEVICES")),
             node_has_nvswitch());
  });
}

}  // namespace softcuda
