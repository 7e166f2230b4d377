#include "cli/top/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/time_text.h"
#include "cli/report/live_ras.h"
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

// `kept`: lines of the screen that are for something else.
Answer answer_of(const std::shared_ptr<const View>& view, std::size_t kept) {
  Answer out;
  out.judges = false;
  out.verdict = top_verdict(*view);
  const std::string verdict = out.verdict;
  out.page = [view, verdict, kept](const Screen& screen) {
    const auto said = screen.wrap(verdict, 2);
    const auto lines = static_cast<std::size_t>(std::count(said.begin(), said.end(), '\n')) + 1;
    const std::size_t height = screen.height();
    return top_page(*view, lines, height == 0 ? 0 : height - std::min(height - 1, kept), screen);
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
    due_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(options_.interval_sec));
    View view = tracker_.see(looker_.look());
    if (!looked_ && view.processes.empty()) throw nothing_there(options_, view);
    looked_ = true;
    hear_ras(view);
    return std::make_shared<const View>(std::move(view));
  }
  Clock::time_point due() const { return due_; }

 private:
  // Only of jobs that aren't well: their processes have to answer.
  void hear_ras(View& view) {
    std::set<std::int64_t> pids;
    bool well = true;
    for (const auto& process : view.processes) {
      pids.insert(process.pid);
      well = well && process.state() == ShownProcess::State::kWell;
    }
    if (!well) view.ras = ras_.look(pids);
  }

  const TopOptions& options_;
  LiveRas ras_;
  Looker looker_;
  Tracker tracker_{geteuid()};
  Clock::time_point due_;
  bool looked_ = false;
};

// What is shown on a terminal until somebody ends it, and what keys make of it.
class LastingPage {
 public:
  LastingPage(const Calling& calling, Looks& looks) : calling_(calling), looks_(looks) {}

  // `pages`: 0: any number. The last view.
  std::shared_ptr<const View> run(std::shared_ptr<const View> view, int pages) {
    for (int page = 1; draw(view) && wait(view); ++page) {
      auto next = looks_.next();
      if (next->processes.empty() && next->ended.empty()) break;
      view = std::move(next);
      if (page == pages || view->processes.empty()) break;
    }
    return view;
  }

 private:
  bool draw(const std::shared_ptr<const View>& view) {
    const Screen screen(calling_);
    const std::string text = help_ ? top_help(screen) : in_text(calling_, answer_of(view, 1));
    return terminal_.show(text, footer(view), screen.height());
  }
  // Until the next look is due. False: the user ends it.
  bool wait(const std::shared_ptr<const View>& view) {
    while (!InterruptGuard::interrupted()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(looks_.due() - Clock::now());
      if (!held_ && left.count() <= 0) return true;
      const auto key = terminal_.key(
          held_ ? kInterruptPause
                : std::clamp(left, decltype(left)(1), decltype(left)(kInterruptPause)));
      if (!key) continue;
      if (*key == 'q' || *key == 'Q') return false;
      if (*key == 'h' || *key == '?') help_ = !help_;
      if (*key == 'v') calling_.verbose = !calling_.verbose;
      if (*key == 'p') held_ = !held_;
      if (!draw(view)) return false;
    }
    return false;
  }
  std::string footer(const std::shared_ptr<const View>& view) const {
    const char* const keys = !terminal_.has_keys() ? "Ctrl-C ends"
                             : help_               ? "q ends  h goes back"
                                                   : "q ends  h help  v connections  p holds";
    const std::string held =
        held_ ? fmt::format("HELD at {}: p goes on  ",
                            second_text(static_cast<std::int64_t>(view->real_ns)))
              : "";
    const Screen screen(calling_);
    const std::string text = held + keys;
    return screen.paint(screen.width() == 0 ? text : text.substr(0, screen.width()), Colour::kBold);
  }

  Calling calling_;
  Looks& looks_;
  Terminal terminal_;
  bool help_ = false, held_ = false;
};

// Page after page, into a pipe or a file. The last view.
std::shared_ptr<const View> print_pages(const Calling& calling, Looks& looks,
                                        std::shared_ptr<const View> view, int pages) {
  for (int page = 1; !InterruptGuard::interrupted(); ++page) {
    InterruptGuard::sleep_until(looks.due());
    auto next = looks.next();
    if (next->processes.empty() && next->ended.empty()) break;
    view = std::move(next);
    if (page == pages || view->processes.empty()) break;
    print_out(in_text(calling, answer_of(view, 0)) + "\n");
    if (flush_output() != 0) break;
  }
  return view;
}

}  // namespace

Answer top(const TopOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  if (calling.json && options.count > 1)
    throw CallError(kWrongCall, "count", "--json gives one object: there is no --count of it");
  Looks looks(options);
  auto view = looks.next();
  const bool lasts = on_terminal() && !calling.json;
  const int pages = options.count != 0 ? options.count : lasts ? 0 : 1;
  view = lasts && pages != 1 ? LastingPage(calling, looks).run(view, pages)
                             : print_pages(calling, looks, view, pages);
  // The last one stays.
  Answer out = answer_of(view, 0);
  if (calling.json) out.body = top_json(*view);
  return out;
}

}  // namespace nnd::cli
