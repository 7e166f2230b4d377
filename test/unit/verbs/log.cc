#include "log.h"

#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "record/event.h"
#include "record/recorder.h"
#include "state/failure.h"
#include "state/ports.h"
#include "support/catch_session.h"
#include "support/event_log.h"
#include "support/temp_dir.h"

namespace {

using nlohmann::json;

// The recorder of this program, in a directory of its own that is gone afterwards.
class Log {
 public:
  Log() {
    nnd::config::Settings settings;
    settings.events = nnd::test::kEveryStep;
    settings.file = file_ = directory_ / "log.jsonl";
    nnd::record::start(settings);
  }
  ~Log() { nnd::record::stop(); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Everything emitted so far, in order: a mark of this thread's is written behind it.
  void read() {
    const int mark = ++marks_;
    nnd::record::Event(nccl_net_diag::EventId::kCollCount).add("mark", mark).emit();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (;;) {
      std::ifstream log(file_);
      log.seekg(offset_);
      for (std::string line; std::getline(log, line) && !log.eof();) {
        offset_ = log.tellg();
        json event = json::parse(line);
        if (event.value("mark", 0) == mark) return;
        events.push_back(std::move(event));
      }
      if (std::chrono::steady_clock::now() > deadline)
        throw std::runtime_error("no mark in the log");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void drop() {
    read();
    events.clear();
  }

  std::vector<json> events;

 private:
  nnd::test::TempDir directory_;
  std::string file_;
  std::streamoff offset_ = 0;
  int marks_ = 0;
};

std::optional<Log> g_log;

// No case meets what another one has logged, or what failed in it.
[[maybe_unused]] const bool g_anew = nnd::test::before_each_case([] {
  nnd::state::forget_failures();
  nnd::state::forget_port_histories();
  if (g_log) g_log->drop();
});

}  // namespace

void start_log() {
  if (!g_log) g_log.emplace();
}

std::vector<json> take_events(const std::string& name) {
  start_log();
  Log& log = *g_log;
  log.read();
  std::vector<json> taken;
  for (const json& event : log.events)
    if (event["ev"] == name) taken.push_back(event);
  std::erase_if(log.events, [&](const json& event) { return event["ev"] == name; });
  return taken;
}
