// Python's pickles as PyTorch writes them: data only. Nothing is looked up,
// called or executed; a pickle that asks for more is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::foreign {

inline constexpr std::size_t kMostPickleValues = std::size_t{1} << 25;

class PickleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A value of Python's. Lists, tuples and dicts (key, value, key, value, ...)
// hold others by number.
struct PickleValue {
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kFloat, kText, kList, kDict } kind{};
  std::int64_t number = 0;  // of kBool and kInt
  double real = 0;
  std::string_view text;  // in the bytes that were read
  std::vector<std::uint32_t> items;
};

class Pickle {
 public:
  // Keeps views into `bytes`. Throws PickleError.
  explicit Pickle(std::string_view bytes);

  const PickleValue& root() const { return values_.at(root_); }
  const PickleValue& at(std::uint32_t index) const { return values_.at(index); }
  // Of a dict; null: it has no such key, or is none.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

 private:
  friend class PickleMachine;
  friend class JsonValues;
  Pickle() = default;
  std::vector<PickleValue> values_;
  std::uint32_t root_ = 0;
};

// Whether a file's first bytes are a pickle's.
bool starts_pickle(std::string_view bytes);

}  // namespace nnd::foreign
