// The members of a message that another process sent, each checked for its type and range before it
// is used.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nnd::cli {

// One clause: what is wrong with a message.
class BadMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kLongestText = 16384;  // bytes

// Texts come out printable (printable.h). Refers to the value, which must outlive it. Every
// function throws BadMessage for a member of another type, a number that does not fit, a text or a
// list that is too long; where a name ends in _if, a member that is missing or null is nothing,
// else it is wrong too.
class Fields {
 public:
  explicit Fields(const nlohmann::json& object);

  std::string text(const char* key, std::size_t most = kLongestText) const;
  std::optional<std::string> text_if(const char* key) const;
  std::string text_or_empty(const char* key) const { return text_if(key).value_or(""); }
  bool flag(const char* key) const;
  double real(const char* key) const;
  std::optional<double> real_if(const char* key) const;
  std::vector<std::string> texts(const char* key) const;

  template <typename Number>
  Number number(const char* key, Number least = std::numeric_limits<Number>::min(),
                Number most = std::numeric_limits<Number>::max()) const {
    return whole<Number>(key, member(key), least, most);
  }
  template <typename Number>
  std::optional<Number> number_if(const char* key) const {
    const auto* value = find(key);
    if (value == nullptr) return std::nullopt;
    return whole<Number>(key, *value, std::numeric_limits<Number>::min(),
                         std::numeric_limits<Number>::max());
  }
  template <typename Number>
  std::vector<Number> numbers(const char* key, Number least, Number most) const {
    std::vector<Number> out;
    for (const auto& element : list(key)) out.push_back(whole<Number>(key, element, least, most));
    return out;
  }

  Fields object(const char* key) const { return Fields(member(key)); }
  std::optional<Fields> object_if(const char* key) const;
  std::vector<Fields> objects(const char* key) const;

  const nlohmann::json& value() const { return object_; }

 private:
  const nlohmann::json* find(const char* key) const;
  const nlohmann::json& member(const char* key) const;
  const nlohmann::json& list(const char* key) const;
  [[noreturn]] static void wrong(const char* key, const char* what);

  template <typename Number>
  static Number whole(const char* key, const nlohmann::json& value, Number least, Number most) {
    bool fits = value.is_number_integer();
    if (value.is_number_unsigned())
      fits = std::in_range<Number>(value.get<std::uint64_t>());
    else if (fits)
      fits = std::in_range<Number>(value.get<std::int64_t>());
    if (!fits || value.get<Number>() < least || value.get<Number>() > most)
      wrong(key, "no number, or out of range");
    return value.get<Number>();
  }

  const nlohmann::json& object_;
};

}  // namespace nnd::cli
