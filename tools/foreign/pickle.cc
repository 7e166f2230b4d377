#include "foreign/pickle.h"

#include <bit>
#include <unordered_map>
#include <utility>

namespace nnd::foreign {

using Kind = PickleValue::Kind;

namespace {

constexpr char kProto = '\x80';

}  // namespace

// The stack machine of Lib/pickle.py (CPython), as far as data needs it: the opcodes of PyTorch's
// own pickler (torch/csrc/jit/serialization/pickler.cc; dumps of 2.7.1 and 2.15.0) and those that
// Python's pickle.dump writes of the same.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, Pickle& out) : rest_(bytes), out_(out) {}

  void run() {
    while (step()) {
    }
    if (stack_.size() != 1) throw PickleError("it leaves no single value");
    out_.root_ = stack_.back();
  }

 private:
  std::string_view bytes(std::uint64_t count) {
    if (count > rest_.size()) throw PickleError("it breaks off");
    const auto out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  std::string_view line() {
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos) throw PickleError("it breaks off");
    const auto out = bytes(end);
    bytes(1);
    return out;
  }
  std::uint64_t little(std::size_t size) {
    std::uint64_t out = 0;
    const auto from = bytes(size);
    for (std::size_t i = 0; i < size; ++i)
      out |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    return out;
  }
  std::int64_t signed_little(std::size_t size) {
    if (size == 0) return 0;
    const auto value = little(size);
    const auto shift = 64 - 8 * size;
    return static_cast<std::int64_t>(value << shift) >> shift;
  }
  double big_double() {
    std::uint64_t out = 0;
    for (const char c : bytes(8)) out = out << 8 | static_cast<unsigned char>(c);
    return std::bit_cast<double>(out);
  }

  std::uint32_t make(Kind kind) {
    if (out_.values_.size() >= kMostPickleValues)
      throw PickleError("it has more values than any dump");
    out_.values_.emplace_back().kind = kind;
    return static_cast<std::uint32_t>(out_.values_.size() - 1);
  }
  PickleValue& push(Kind kind) {
    stack_.push_back(make(kind));
    return out_.values_.back();
  }
  void push_number(Kind kind, std::int64_t number) { push(kind).number = number; }
  void push_text(std::uint64_t size) { push(Kind::kText).text = bytes(size); }

  std::uint32_t pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() == stack_.size()))
      throw PickleError("its stack is empty");
    const auto out = stack_.back();
    stack_.pop_back();
    return out;
  }
  std::vector<std::uint32_t> pop_to_mark() {
    if (marks_.empty()) throw PickleError("it has no mark");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::uint32_t> out(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return out;
  }
  void extend(Kind kind, const std::vector<std::uint32_t>& items) {
    if (stack_.empty() || (kind == Kind::kDict && items.size() % 2 != 0) ||
        out_.values_[stack_.back()].kind != kind)
      throw PickleError("it adds to what is no list and no dict");
    auto& held = out_.values_[stack_.back()].items;
    held.insert(held.end(), items.begin(), items.end());
  }
  void push_list(std::vector<std::uint32_t> items) { push(Kind::kList).items = std::move(items); }
  void push_tuple(std::size_t size) {
    std::vector<std::uint32_t> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push_list(std::move(items));
  }
  void remember(std::uint64_t at) {
    if (stack_.empty()) throw PickleError("its stack is empty");
    memo_[at] = stack_.back();
  }
  void recall(std::uint64_t at) {
    const auto found = memo_.find(at);
    if (found == memo_.end()) throw PickleError("it asks for what it did not keep");
    stack_.push_back(found->second);
  }
  // torch's typed lists: a function of its own, called with the list, which is
  // the result.
  void take_global() {
    const auto module = line(), name = line();
    if (module != "torch.jit._pickle" ||
        (name != "build_intlist" && name != "build_doublelist" && name != "build_boollist"))
      throw PickleError("it asks for a function or a class, and is not read on");
    push(Kind::kNone);
  }
  void reduce() {
    const auto arguments = pop();
    pop();
    const auto& given = out_.values_[arguments];
    if (given.kind != Kind::kList || given.items.size() != 1)
      throw PickleError("it calls what it should not");
    stack_.push_back(given.items.front());
  }

  bool step() {
    switch (bytes(1).front()) {
      case kProto:
        bytes(1);
        break;
      case '\x95':  // FRAME
        bytes(8);
        break;
      case '}':
        push(Kind::kDict);
        break;
      case ']':
      case ')':
        push(Kind::kList);
        break;
      case '(':
        marks_.push_back(stack_.size());
        break;
      case 'u':
        extend(Kind::kDict, pop_to_mark());
        break;
      case 'e':
        extend(Kind::kList, pop_to_mark());
        break;
      case 's': {
        const auto value = pop(), key = pop();
        extend(Kind::kDict, {key, value});
        break;
      }
      case 'a':
        extend(Kind::kList, {pop()});
        break;
      case 't':
        push_list(pop_to_mark());
        break;
      case '\x85':
        push_tuple(1);
        break;
      case '\x86':
        push_tuple(2);
        break;
      case '\x87':
        push_tuple(3);
        break;
      case 'X':
        push_text(little(4));
        break;
      case '\x8c':
        push_text(little(1));
        break;
      case 'q':
        remember(little(1));
        break;
      case 'r':
        remember(little(4));
        break;
      case '\x94':
        remember(memo_.size());
        break;
      case 'h':
        recall(little(1));
        break;
      case 'j':
        recall(little(4));
        break;
      case 'K':
        push_number(Kind::kInt, signed_little(1) & 0xff);
        break;
      case 'M':
        push_number(Kind::kInt, static_cast<std::int64_t>(little(2)));
        break;
      case 'J':
        push_number(Kind::kInt, signed_little(4));
        break;
      case '\x8a': {
        const auto size = little(1);
        if (size > 8) throw PickleError("it has a number that is too long");
        push_number(Kind::kInt, signed_little(size));
        break;
      }
      case 'G':
        push(Kind::kFloat).real = big_double();
        break;
      case '\x88':
        push_number(Kind::kBool, 1);
        break;
      case '\x89':
        push_number(Kind::kBool, 0);
        break;
      case 'N':
        push(Kind::kNone);
        break;
      case 'c':
        take_global();
        break;
      case 'R':
        reduce();
        break;
      case '.':
        return false;
      default:
        throw PickleError("it has an opcode that data doesn't need");
    }
    return true;
  }

  std::string_view rest_;
  Pickle& out_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

Pickle::Pickle(std::string_view bytes) { PickleMachine(bytes, *this).run(); }

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != Kind::kDict) return nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2)
    if (const auto& name = at(dict.items[i]); name.kind == Kind::kText && name.text == key)
      return &at(dict.items[i + 1]);
  return nullptr;
}

bool starts_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == kProto && bytes[1] >= 2 && bytes[1] <= 5;
}

}  // namespace nnd::foreign
