#include "cli/top/json.h"

#include <fmt/format.h>

#include "cli/common/box_slots.h"
#include "cli/common/time_text.h"
#include "cli/top/words.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

template <typename T>
void add(json& to, const char* name, const std::optional<T>& value) {
  if (value) to[name] = *value;
}

void add(json& to, const Rate& rate) {
  add(to, "gbit_per_s_out", rate.out);
  add(to, "gbit_per_s_in", rate.in);
}

json to_json(const Rail& rail) {
  json out{{"hca", rail.hca},
           {"sends", rail.sends},
           {"receives", rail.receives},
           {"being_made", rail.being_made},
           {"in_flight", rail.in_flight},
           {"failed", rail.failed}};
  add(out, rail.rate);
  if (rail.port_gbit > 0) out["port_gbit_per_s"] = rail.port_gbit;
  add(out, "of_port", rail.of_port());
  add(out, "wait_sec", rail.wait_sec);
  return out;
}

json to_json(const ShownConnection& one, const ShownProcess& process) {
  json out = cli::to_json(process.header, one.slot);
  out["in_flight"] = one.in_flight;
  add(out, one.rate);
  add(out, "wait_sec", one.wait_sec);
  return out;
}

json to_json(const ShownProcess& process) {
  json out{{"host", process.host},           {"pid", process.pid},
           {"proc", process.proc},           {"log", process.header.log_path},
           {"in_flight", process.in_flight}, {"rails", json::array()},
           {"connections", json::array()},   {"communicators", json::array()}};
  add(out, "rank", process.rank);
  add(out, "nranks", process.nranks);
  if (!process.user.empty()) out["user"] = process.user;
  if (!process.job.empty()) out["job"] = process.job;
  add(out, "silent_sec", process.silent_sec);
  add_awaited(out, process.header);
  add_latecomer(out, process.header.latecomer);
  add(out, process.rate);
  for (const auto& rail : process.rails) out["rails"].push_back(to_json(rail));
  for (const auto& one : process.connections) out["connections"].push_back(to_json(one, process));
  for (const auto& one : process.communicators) {
    out["communicators"].push_back(cli::to_json(process.header, one.slot));
    add(out["communicators"].back(), "moved_sec", one.moved_sec);
  }
  return out;
}

json to_json(const Ended& one) {
  json out{{"host", one.last.host},
           {"pid", one.last.pid},
           {"sec", one.ago_sec},
           {"died", one.died},
           {"missed", one.missed},
           {"was_in", what_it_did(one.last)},
           {"log", one.last.header.log_path},
           {"in_flight", one.last.in_flight}};
  add(out, "rank", one.last.rank);
  add(out, "nranks", one.last.nranks);
  if (!one.last.user.empty()) out["user"] = one.last.user;
  if (!one.last.job.empty()) out["job"] = one.last.job;
  if (one.died) out["box"] = one.box;
  return out;
}

}  // namespace

json top_json(const View& view) {
  json out{{"seconds", view.seconds}, {"processes", json::array()}, {"waits", json::array()},
           {"ended", json::array()},  {"gone", json::array()},      {"unread", json::array()}};
  for (const auto& process : view.processes) out["processes"].push_back(to_json(process));
  for (const auto& wait : long_waits(view))
    out["waits"].push_back({{"pid", wait.process->pid},
                            {"conn", wait.connection->slot.conn},
                            {"sec", *wait.connection->wait_sec},
                            {"msg", in_words(wait)}});
  for (const auto& one : view.ended) {
    if (one.just_now) out["ended"].push_back(one.last.pid);
    out["gone"].push_back(to_json(one));
  }
  for (const auto& one : view.unread) out["unread"].push_back({{"pid", one.pid}, {"why", one.why}});
  if (!view.ras.empty()) out["ras"] = view.ras;
  if (view.real_ns != 0) out["at"] = second_text(static_cast<std::int64_t>(view.real_ns));
  if (const auto look = look_at(view))
    out["look_at"] = {{"who", look->who}, {"command", look->command}};
  return out;
}

}  // namespace nnd::cli
