#include "record/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "context/utc.h"
#include "record/pack.h"

namespace nnd::record {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kNsPerSec = 1000000000;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes JSON while MessagePack is read. No tree in between: at start-up every process of a node
// writes its facts at the same time, and building it took most of the drain's time.
class JsonText {
 public:
  explicit JsonText(std::string& out) : out_(out) {}

  // The names and results are those that nlohmann's parser asks for; false ends the parsing.
  bool null() { return raw("null"); }
  bool boolean(bool value) { return raw(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return number(value); }
  bool number_unsigned(std::uint64_t value) { return number(value); }
  bool number_float(double value, const std::string&) { return raw(dumped(Json(value))); }
  bool string(const std::string& value) {
    separate();
    quote(value);
    return depth_ > 0;
  }
  bool binary(const Json::binary_t&) { return null(); }
  bool start_object(std::size_t) { return open('{'); }
  bool key(const std::string& value) {
    separate();
    quote(value);
    out_ += ':';
    first_ = true;
    return true;
  }
  bool end_object() { return close('}'); }
  bool start_array(std::size_t) { return depth_ > 0 && open('['); }
  bool end_array() { return close(']'); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) { return false; }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  bool raw(std::string_view text) {
    separate();
    out_ += text;
    return depth_ > 0;  // the root must be an object
  }
  template <class Int>
  bool number(Int value) {
    const fmt::format_int text(value);
    return raw({text.data(), text.size()});
  }
  // The root's brace is the line's own.
  bool open(char brace) {
    if (depth_ == Pack::kDeepest) return false;  // no event is deeper: the parser calls itself
    if (depth_++ == 0) {
      first_ = false;
      return true;
    }
    separate();
    out_ += brace;
    first_ = true;
    return true;
  }
  bool close(char brace) {
    out_ += brace;
    first_ = false;
    --depth_;
    return true;
  }
  void quote(const std::string& text) {
    const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    if (!std::all_of(text.begin(), text.end(), plain)) {
      out_ += dumped(Json(text));
      return;
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  std::string& out_;
  int depth_ = 0;
  bool first_ = true;  // nothing before this one at its level: no comma
};

}  // namespace

LineWriter::LineWriter(std::string_view host, std::uint32_t pid, std::uint64_t proc_id,
                       std::uint64_t start_mono_ns, std::uint64_t start_real_ns)
    : common_(fmt::format("\"host\":{},\"pid\":{},\"proc\":\"{:#x}\"",
                          dumped(Json(std::string(host))), pid, proc_id)),
      mono_to_real_(start_real_ns - start_mono_ns) {}

void LineWriter::set_clock(std::uint64_t mono_ns, std::uint64_t real_ns, std::uint64_t step_ns) {
  const std::uint64_t now = real_ns - mono_ns;
  const std::uint64_t off = now > mono_to_real_ ? now - mono_to_real_ : mono_to_real_ - now;
  if (off > step_ns) mono_to_real_ = now;
}

bool LineWriter::write(std::string& line, std::uint64_t seq, nccl_net_diag::EventId id,
                       nccl_net_diag::Severity severity, std::uint64_t mono_ns,
                       std::string_view payload) const {
  const std::uint64_t real_ns = mono_ns + mono_to_real_;
  const context::Utc utc = context::utc(real_ns / kNsPerSec);
  fmt::format_to(std::back_inserter(line),
                 "{{\"v\":{},\"ts\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z\",\"mono_ns\":{},"
                 "{},\"seq\":{},\"ev\":\"{}\",\"sev\":\"{}\"",
                 nccl_net_diag::kSchemaVersion, utc.year, utc.month, utc.day, utc.hour, utc.minute,
                 utc.second, real_ns % kNsPerSec, mono_ns, common_, seq,
                 nccl_net_diag::event_name(id), nccl_net_diag::severity_name(severity));
  JsonText fields(line);
  return Json::sax_parse(payload.begin(), payload.end(), &fields, Json::input_format_t::msgpack);
}

}  // namespace nnd::record
