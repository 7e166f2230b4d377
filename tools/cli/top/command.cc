#include "cli/top/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/top/json.h"
#include "cli/top/look.h"
#include "cli/top/terminal.h"
#include "cli/top/text.h"
#include "cli/top/view.h"
#include "cli/top/words.h"
#include "log/living.h"

namespace nnd::cli {

namespace {

using Clock = std::chrono::steady_clock;

// Until then, or until the user ends it.
void sleep_until(Clock::time_point then) {
  constexpr auto kStep = std::chrono::milliseconds(50);
  while (Clock::now() < then && !InterruptGuard::interrupted())
    std::this_thread::sleep_for(std::min<Clock::duration>(kStep, then - Clock::now()));
}

// Why there is nothing to see.
CallError nothing_there(const TopOptions& options, const View& view) {
  for (const int pid : options.pids)
    if (!log::may_look_into(pid))
      return {kWrongCall, "no-such-process",
              fmt::format("there is no process {}, or it is another user's", pid)};
  if (!view.unread.empty())
    return {kNotExamined, "no-box",
            fmt::format("pid {}: {}", view.unread[0].pid, view.unread[0].why)};
  const std::string who = options.pids.empty() ? "no process" : "none of these processes";
  const std::string whose =
      options.pids.empty() && geteuid() != 0
          ? "; only root sees other users' processes: run it as root, or as the job's user"
          : "";
  return {kNotExamined, "no-box",
          fmt::format("{} has a black box: a job has them with NCCL_NET_PLUGIN=diag, unless "
                      "NCCL_NET_DIAG_BLACKBOX is off{}",
                      who, whose)};
}

Answer answer_of(const std::shared_ptr<const View>& view) {
  Answer out;
  out.judges = false;
  out.verdict = top_verdict(*view);
  const std::string verdict = out.verdict;
  out.page = [view, verdict](const Screen& screen) {
    const auto said = screen.wrap(verdict, 2);
    const auto lines = static_cast<std::size_t>(std::count(said.begin(), said.end(), '\n')) + 1;
    return top_page(*view, lines, screen);
  };
  out.brief = [view] { return top_brief(*view); };
  return out;
}

// Looks, at equal distances.
class Looks {
 public:
  explicit Looks(const TopOptions& options) : options_(options), looker_(options.pids) {}

  // Throws CallError where there is nothing to see at the first.
  std::shared_ptr<const View> next() {
    if (looked_) sleep_until(due_);
    due_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(options_.interval_sec));
    auto view = std::make_shared<const View>(tracker_.see(looker_.look()));
    if (!looked_ && view->processes.empty()) throw nothing_there(options_, *view);
    looked_ = true;
    return view;
  }

 private:
  const TopOptions& options_;
  Looker looker_;
  Tracker tracker_;
  Clock::time_point due_;
  bool looked_ = false;
};

}  // namespace

Answer top(const TopOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  if (calling.json && options.count > 1)
    throw CallError(kWrongCall, "count", "--json gives one object: there is no --count of it");
  Looks looks(options);
  auto view = looks.next();
  const bool lasts = on_terminal() && !calling.json;
  const int pages = options.count != 0 ? options.count : lasts ? 0 : 1;
  std::optional<Terminal> terminal;
  if (lasts && pages != 1) terminal.emplace();
  for (int page = 1; !InterruptGuard::interrupted(); ++page) {
    if (terminal && !terminal->show(in_text(calling, answer_of(view)), Screen(calling).height()))
      break;
    auto next = looks.next();
    if (next->processes.empty() && next->ended.empty()) break;
    view = std::move(next);
    if (page == pages || view->processes.empty()) break;
    if (terminal) continue;
    print_out(in_text(calling, answer_of(view)) + "\n");
    if (flush_output() != 0) break;
  }
  // The last one stays.
  terminal.reset();
  Answer out = answer_of(view);
  if (calling.json) out.body = top_json(*view);
  return out;
}

}  // namespace nnd::cli
