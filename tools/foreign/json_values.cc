#include "foreign/json_values.h"

#include <simdjson.h>

#include <new>
#include <utility>

namespace nnd::foreign {

namespace dom = simdjson::dom;
using Kind = PickleValue::Kind;

struct JsonValues::Parser {
  dom::parser parser;
};

namespace {

constexpr std::size_t kDeepest = 64;

std::uint32_t add(std::vector<PickleValue>& out, Kind kind) {
  if (out.size() >= kMostPickleValues) throw PickleError("it has more values than any dump");
  out.emplace_back().kind = kind;
  return static_cast<std::uint32_t>(out.size() - 1);
}

std::uint32_t add_text(std::vector<PickleValue>& out, std::string_view text) {
  const auto index = add(out, Kind::kText);
  out[index].text = text;
  return index;
}

std::uint32_t add_number(std::vector<PickleValue>& out, Kind kind, std::int64_t number) {
  const auto index = add(out, kind);
  out[index].number = number;
  return index;
}

// As deep as the parser lets a text be.
std::uint32_t walk(std::vector<PickleValue>& out, const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::ARRAY: {
      const auto index = add(out, Kind::kList);
      std::vector<std::uint32_t> items;
      for (const auto child : dom::array(element)) items.push_back(walk(out, child));
      out[index].items = std::move(items);
      return index;
    }
    case dom::element_type::OBJECT: {
      const auto index = add(out, Kind::kDict);
      std::vector<std::uint32_t> items;
      for (const auto field : dom::object(element)) {
        items.push_back(add_text(out, field.key));
        items.push_back(walk(out, field.value));
      }
      out[index].items = std::move(items);
      return index;
    }
    case dom::element_type::INT64:
      return add_number(out, Kind::kInt, std::int64_t(element));
    case dom::element_type::UINT64:
      return add_number(out, Kind::kInt, static_cast<std::int64_t>(std::uint64_t(element)));
    case dom::element_type::BOOL:
      return add_number(out, Kind::kBool, bool(element) ? 1 : 0);
    case dom::element_type::STRING:
      return add_text(out, std::string_view(element));
    case dom::element_type::DOUBLE: {
      const auto index = add(out, Kind::kFloat);
      out[index].real = double(element);
      return index;
    }
    case dom::element_type::NULL_VALUE:
      break;
  }
  return add(out, Kind::kNone);
}

}  // namespace

JsonValues::JsonValues(std::string_view bytes) : parser_(std::make_unique<Parser>()) {
  dom::element root;
  if (parser_->parser.allocate(bytes.size(), kDeepest) != simdjson::SUCCESS) throw std::bad_alloc();
  if (parser_->parser.parse(bytes.data(), bytes.size()).get(root) != simdjson::SUCCESS)
    throw PickleError("it is no JSON, or breaks off");
  values_.root_ = walk(values_.values_, root);
}

JsonValues::~JsonValues() = default;

}  // namespace nnd::foreign
