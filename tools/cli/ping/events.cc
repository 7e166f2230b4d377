#include "cli/ping/events.h"

#include "cli/common/event_json.h"
#include "log/reader.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr std::size_t kMostTroubles = 32;

bool of_pair(const log::Event& event) {
  return event.conn || event.id == log::EventId::kWcError || event.id == log::EventId::kPortEvent;
}

json list_json(const std::vector<log::Diagnosis>& list) {
  json out = json::array();
  for (const auto& one : list) out.push_back(to_json(one));
  return out;
}

}  // namespace

void AttemptEvents::add(const log::Event& event) {
  if (!of_pair(event)) return;
  const bool failed = event.rc.value_or(0) != 0;
  if (event.id == log::EventId::kQpTransition && !event.dev.gid.empty() && (!used || failed))
    used = {event.dev,   event.peer,
            event.qp,    event.rc.value_or(0),
            event.error, event.dur_us.value_or(0)};
  const auto said = log::diagnosis_of(event);
  if (log::evidence(said) > (first ? log::evidence(*first) : 0)) first = said;
  if (event.id == log::EventId::kPolicyWarn || event.id == log::EventId::kPolicyRefuse)
    rules.push_back(said);
  if (event.severity != log::Severity::kInfo && troubles.size() < kMostTroubles)
    troubles.push_back(said);
}

AttemptEvents read_attempt(const std::filesystem::path& log) {
  AttemptEvents out;
  try {
    log::read_logs({log}, [&](const log::Event& event) { out.add(event); });
  } catch (const log::ReadError&) {
  }
  return out;
}

json to_json(const AttemptEvents& events) {
  json out{{"own", nullptr},
           {"path_mtu", nullptr},
           {"first", nullptr},
           {"rules", list_json(events.rules)},
           {"troubles", list_json(events.troubles)}};
  if (events.used) {
    out["own"] = to_json(events.used->dev);
    if (events.used->qp.path_mtu) out["path_mtu"] = *events.used->qp.path_mtu;
  }
  if (events.first) out["first"] = to_json(*events.first);
  return out;
}

AttemptEvents attempt_events_from(const Fields& fields) {
  AttemptEvents out;
  if (const auto own = fields.object_if("own")) {
    out.used.emplace().dev = dev_from(*own);
    out.used->qp.path_mtu = fields.number_if<int>("path_mtu");
  }
  if (const auto first = fields.object_if("first")) out.first = diagnosis_from(*first);
  for (const auto& rule : fields.objects("rules")) out.rules.push_back(diagnosis_from(rule));
  for (const auto& one : fields.objects("troubles")) out.troubles.push_back(diagnosis_from(one));
  return out;
}

}  // namespace nnd::cli
