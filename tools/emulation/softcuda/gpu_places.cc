#include "gpu_places.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>
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

std::vector<PciAddress> gpus_of_topology(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error(file.string() + " can't be read");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  static const std::regex element(R"(<pci\s[^>]*>)"), place(R"re(\bbusid="([^"]*)")re"),
      device_class(R"re(\bclass="([^"]*)")re");
  std::vector<PciAddress> gpus;
  for (std::sregex_iterator it(text.begin(), text.end(), element), end; it != end; ++it) {
    const std::string tag = it->str();
    std::smatch where, what;
    if (!std::regex_search(tag, where, place) || !std::regex_search(tag, what, device_class))
      continue;
    if (const auto pci = parse_pci(where.str(1)); pci && is_display(what.str(1)))
      gpus.push_back(*pci);
  }
  if (gpus.empty()) throw std::runtime_error(file.string() + " names no GPU");
  return gpus;
}

}  // namespace softcuda
