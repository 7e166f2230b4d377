#include "cli/common/checked_json.h"

#include <cmath>

#include "cli/common/printable.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kMostElements = 100000;

bool is_text(const json& value, std::size_t most) {
  return value.is_string() && value.get_ref<const std::string&>().size() <= most;
}

bool is_real(const json& value) { return value.is_number() && std::isfinite(value.get<double>()); }

}  // namespace

Fields::Fields(const json& object) : object_(object) {
  if (!object.is_object()) throw BadMessage("it is no object");
}

void Fields::wrong(const char* key, const char* what) {
  throw BadMessage(std::string(key) + " is " + what);
}

const json* Fields::find(const char* key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null() ? &*found : nullptr;
}

const json& Fields::member(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) throw BadMessage(std::string("no ") + key);
  return *found;
}

const json& Fields::list(const char* key) const {
  const auto& value = member(key);
  if (!value.is_array() || value.size() > kMostElements) wrong(key, "no list, or too long");
  return value;
}

std::string Fields::text(const char* key, std::size_t most) const {
  const auto& value = member(key);
  if (!is_text(value, most)) wrong(key, "no text, or too long");
  return printable(value.get<std::string>());
}

std::optional<std::string> Fields::text_if(const char* key) const {
  return find(key) != nullptr ? std::optional(text(key)) : std::nullopt;
}

bool Fields::flag(const char* key) const {
  const auto& value = member(key);
  if (!value.is_boolean()) wrong(key, "neither true nor false");
  return value.get<bool>();
}

double Fields::real(const char* key) const {
  const auto& value = member(key);
  if (!is_real(value)) wrong(key, "no number");
  return value.get<double>();
}

std::optional<double> Fields::real_if(const char* key) const {
  return find(key) != nullptr ? std::optional(real(key)) : std::nullopt;
}

std::vector<std::string> Fields::texts(const char* key) const {
  std::vector<std::string> out;
  for (const auto& element : list(key)) {
    if (!is_text(element, kLongestText)) wrong(key, "no list of texts");
    out.push_back(printable(element.get<std::string>()));
  }
  return out;
}

std::optional<Fields> Fields::object_if(const char* key) const {
  const auto* value = find(key);
  return value != nullptr ? std::optional<Fields>(std::in_place, *value) : std::nullopt;
}

std::vector<Fields> Fields::objects(const char* key) const {
  std::vector<Fields> out;
  for (const auto& element : list(key)) out.emplace_back(element);
  return out;
}

}  // namespace nnd::cli
