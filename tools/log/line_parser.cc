#include "log/line_parser.h"

#include <simdjson.h>

#include <new>

#include "log/fields.h"

namespace nnd::log {

static_assert(kLinePadding >= simdjson::SIMDJSON_PADDING);

namespace {

namespace dom = simdjson::dom;

template <typename T>
Scalar get(const dom::element& value) {
  T out{};
  return value.get(out) == simdjson::SUCCESS ? Scalar(out) : Scalar();
}

Scalar scalar_of(const dom::element& value) {
  switch (value.type()) {
    case dom::element_type::STRING:
      return get<std::string_view>(value);
    case dom::element_type::INT64:
      return get<std::int64_t>(value);
    case dom::element_type::UINT64:
      return get<std::uint64_t>(value);
    case dom::element_type::DOUBLE:
      return get<double>(value);
    case dom::element_type::BOOL:
      return get<bool>(value);
    default:
      return std::monostate{};
  }
}

// Only the objects that an event has are entered: as deep as they are, and no deeper.
bool walk(const dom::object& object, Place place, Event& event) {
  for (const auto field : object) {
    dom::object nested;
    dom::array list;
    if (field.value.get(nested) == simdjson::SUCCESS) {
      const Place inner = place_of(place, field.key);
      if (inner != Place::kElsewhere && !walk(nested, inner, event)) return false;
    } else if (field.value.get(list) == simdjson::SUCCESS) {
      for (const auto element : list) {
        if (element.get(nested) != simdjson::SUCCESS) {
          if (!store(event, place, field.key, scalar_of(element))) return false;
          continue;
        }
        const Place inner = place_of(place, field.key);
        begin_element(event, inner);
        if (inner != Place::kElsewhere && !walk(nested, inner, event)) return false;
      }
    } else if (!store(event, place, field.key, scalar_of(field.value))) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct LineParser::Json {
  dom::parser parser{kLongestLine};
};

LineParser::LineParser() : json_(std::make_unique<Json>()) {
  constexpr std::size_t kUsual = std::size_t{16} << 10;
  if (json_->parser.allocate(kUsual) != simdjson::SUCCESS) throw std::bad_alloc();
}

LineParser::~LineParser() = default;

bool LineParser::parse(std::string_view line, Event& event) {
  event = Event{};
  const auto parsed =
      json_->parser.parse(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), false);
  if (parsed.error() == simdjson::MEMALLOC) throw std::bad_alloc();
  dom::object object;
  return parsed.get(object) == simdjson::SUCCESS && walk(object, Place::kTop, event) &&
         complete(event);
}

}  // namespace nnd::log
