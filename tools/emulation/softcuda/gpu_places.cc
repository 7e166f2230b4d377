#include "gpu_places.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>
#include <string_view>

namespace softcuda {
namespace {

std::string first_word(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// PCI class 0x0300 (VGA) or 0x0302 (3D).
bool is_display(std::string_view pci_class) {
  return pci_class.starts_with("0x0300") || pci_class.starts_with("0x0302");
}

// The value of ` name="value"` among an element's attributes; empty: there is none.
std::string_view attribute(std::string_view tag, const std::string& name) {
  const auto is_space = [](char sign) { return std::isspace(static_cast<unsigned char>(sign)); };
  const std::string begin = name + "=\"";
  auto at = tag.find(begin);
  while (at != std::string_view::npos && (at == 0 || is_space(tag[at - 1]) == 0))
    at = tag.find(begin, at + 1);
  if (at == std::string_view::npos) return {};
  at += begin.size();
  const auto end = tag.find('"', at);
  return end == std::string_view::npos ? std::string_view() : tag.substr(at, end - at);
}

}  // namespace

std::vector<PciAddress> gpus_of_sysfs(const std::filesystem::path& sysfs) {
  constexpr std::string_view kNvidia = "0x10de";
  std::vector<PciAddress> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(sysfs / "bus/pci/devices", error)) {
    const auto pci = parse_pci(entry.path().filename().string());
    if (pci && first_word(entry.path() / "vendor") == kNvidia &&
        is_display(first_word(entry.path() / "class")))
      gpus.push_back(*pci);
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const PciAddress& a, const PciAddress& b) { return to_string(a) < to_string(b); });
  return gpus;
}

std::vector<PciAddress> gpus_of_topology(std::string_view text) {
  constexpr std::string_view kElement = "<pci";
  std::vector<PciAddress> gpus;
  for (auto at = text.find(kElement); at != std::string_view::npos; at = text.find(kElement, at)) {
    at += kElement.size();
    const auto end = text.find('>', at);
    if (end == std::string_view::npos) break;
    const std::string_view tag = text.substr(at, end - at);
    at = end;
    const auto pci = parse_pci(std::string(attribute(tag, "busid")));
    if (pci && is_display(attribute(tag, "class"))) gpus.push_back(*pci);
  }
  return gpus;
}

}  // namespace softcuda
