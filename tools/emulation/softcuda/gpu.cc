#include "gpu.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace softcuda {
namespace {

std::vector<PciAddress>& list() {
  static auto& gpus = *new std::vector<PciAddress>{{.bus = 0x10}};  // outlives every stream thread
  return gpus;
}

bool linked = false;
thread_local int current = 0;

// Reads a hexadecimal number and the separator behind it; false when either is missing.
bool take(std::string_view& text, char separator, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (separator == '\0') return text.empty();
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<PciAddress> parse_pci(std::string_view text) {
  PciAddress pci;
  const bool has_domain = text.find(':') != text.rfind(':');
  if (has_domain && !take(text, ':', pci.domain)) return std::nullopt;
  if (!take(text, ':', pci.bus) || !take(text, '.', pci.device) || !take(text, '\0', pci.function))
    return std::nullopt;
  if (pci.bus > 0xff || pci.device > 0x1f || pci.function > 7) return std::nullopt;
  return pci;
}

std::string to_string(const PciAddress& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

void set_gpus(std::vector<PciAddress> gpus, bool nvswitch) {
  list() = std::move(gpus);
  linked = nvswitch;
}
const std::vector<PciAddress>& gpus() { return list(); }
bool have_nvswitch() { return linked; }

int current_gpu() { return current; }
void set_current_gpu(int index) { current = index; }

}  // namespace softcuda
