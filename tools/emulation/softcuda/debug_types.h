// The structures that a library's own debug information (DWARF) describes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softcuda {

struct DebugField {
  std::size_t offset = 0, bytes = 0;  // of the whole unit that a bit field is in
  unsigned first_bit = 0, bits = 0;   // a bit field's place in the structure and its width, else 0
};

// Not thread-safe.
class DebugTypes {
 public:
  // Looks for these structures; stops when all are found. Without debug information there are none.
  DebugTypes(const std::string& library, const std::vector<std::string_view>& names);
  ~DebugTypes();
  DebugTypes(const DebugTypes&) = delete;
  DebugTypes& operator=(const DebugTypes&) = delete;

  bool has(std::string_view structure) const;
  // 0 where there is none such.
  std::size_t bytes(std::string_view structure) const;
  // field: "a", or "a.b" for a structure inside. Members without a name are looked into.
  std::optional<DebugField> find(std::string_view structure, std::string_view field) const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace softcuda
