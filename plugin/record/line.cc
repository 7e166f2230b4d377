#include "record/line.h"

#include <fmt/format.h>
#include <time.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace nnd::record {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kNsPerSec = 1000000000;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

LineWriter::LineWriter(std::string_view host, std::uint32_t pid, std::uint64_t proc_id,
                       std::uint64_t start_mono_ns, std::uint64_t start_real_ns)
    : common_(fmt::format("\"host\":{},\"pid\":{},\"proc\":\"{:#x}\"",
                          dumped(Json(std::string(host))), pid, proc_id)),
      mono_to_real_(start_real_ns - start_mono_ns) {}

bool LineWriter::write(std::string& line, std::uint64_t seq, nccl_net_diag::EventId id,
                       nccl_net_diag::Severity severity, std::uint64_t mono_ns,
                       std::string_view payload) const {
  const Json fields = Json::from_msgpack(payload.begin(), payload.end(), true, false);
  if (!fields.is_object()) return false;
  const std::uint64_t real_ns = mono_ns + mono_to_real_;
  const auto seconds = static_cast<time_t>(real_ns / kNsPerSec);
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  fmt::format_to(std::back_inserter(line),
                 "{{\"v\":{},\"ts\":\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z\",\"mono_ns\":{},"
                 "{},\"seq\":{},\"ev\":\"{}\",\"sev\":\"{}\"",
                 nccl_net_diag::kSchemaVersion, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                 utc.tm_hour, utc.tm_min, utc.tm_sec, real_ns % kNsPerSec, mono_ns, common_, seq,
                 nccl_net_diag::event_name(id), nccl_net_diag::severity_name(severity));
  if (fields.empty()) {
    line += '}';
  } else {
    const std::string text = dumped(fields);
    line += ',';
    line.append(text, 1);
  }
  return true;
}

}  // namespace nnd::record
