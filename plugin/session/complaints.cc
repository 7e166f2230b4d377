#include "session/complaints.h"

#include "diagnosis/own.h"
#include "record/event.h"

namespace nnd::session {

void tell_complaint(const config::Complaint& c) {
  record::Event e(record::EventId::kEnvLint, record::Severity::kWarn);
  e.add("variable", c.variable).add("value", c.value);
  if (!c.nearest.empty()) e.add("nearest", c.nearest);
  e.diagnose(diagnose(diagnosis::WrongVariable{c.variable, c.value, c.problem, c.nearest}));
  e.emit();
}

}  // namespace nnd::session
