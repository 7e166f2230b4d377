#include "synth/writer.h"

#include <algorithm>
#include <fstream>

#include "nccl_net_diag/causes.h"
#include "record/line.h"

namespace nnd::synth {

namespace {
constexpr Ns kBegin = 1'800'000'000'000'000'000;  // wall time of the job's begin
}

void Writer::add(Ns at, nccl_net_diag::EventId id, nccl_net_diag::Severity severity,
                 const std::function<void(record::Pack&)>& fields) {
  record::Pack pack;
  fields(pack);
  events_.push_back({at, id, severity, std::string(pack.finish())});
}

void Writer::write(const std::filesystem::path& file) const {
  auto events = events_;
  std::stable_sort(events.begin(), events.end(),
                   [](const One& a, const One& b) { return a.at < b.at; });
  const record::LineWriter lines(identity_.host, identity_.pid, identity_.proc,
                                 static_cast<std::uint64_t>(identity_.mono_ahead),
                                 static_cast<std::uint64_t>(kBegin + identity_.clock_wrong));
  std::ofstream out(file);
  std::uint64_t seq = 0;
  std::string line;
  for (const One& one : events) {
    if (one.at > cut_) break;
    line.clear();
    lines.write(line, seq++, one.id, one.severity,
                static_cast<std::uint64_t>(identity_.mono_ahead + one.at), one.payload);
    out << line << '\n';
  }
}

void add_diagnosis(record::Pack& pack, const diagnosis::Diagnosis& said, std::uint64_t failure) {
  if (failure != 0) pack.add_unsigned("failure", failure);
  pack.add("cause", nccl_net_diag::cause_id(said.cause));
  pack.add("msg", said.sentence);
  pack.add("fix", said.remedy);
}

}  // namespace nnd::synth
