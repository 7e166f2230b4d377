#include "cli/commands/options.h"
#include "cli/top/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kTop =
    "What this node's NCCL processes do over the network now: how much moves, and what waits.\n\n"
    "Reads the black boxes that the plugin keeps for each process, and touches nothing else of\n"
    "theirs. On a terminal the page is drawn anew until Ctrl-C; else it is printed once, after\n"
    "two looks. What is named has waited for 10 s (a connection that is being made: 5 s); a\n"
    "receive that was posted early waits in healthy jobs too.\n\n"
    "Exit code 0: it showed something, whatever that is; 2: the call is wrong, or there is no "
    "such\n"
    "process; 3: no process has a black box that this user may read.";

}  // namespace

void add_top(CLI::App& app, int& exit_code) {
  constexpr double kShortest = 0.2, kLongest = 3600;  // boxes change ten times a second
  const auto options = std::make_shared<TopOptions>();
  auto* const command = add_command(app, "top", kTop, exit_code, [options](const Calling& calling) {
    return top(*options, calling);
  });
  command->add_option("--pid", options->pids, "these processes alone")
      ->type_name("PID")
      ->check(CLI::Range(1, 1 << 22));
  command
      ->add_option("--interval", options->interval_sec, "seconds between two looks; by default 1")
      ->type_name("SEC")
      ->check(CLI::Range(kShortest, kLongest));
  command
      ->add_option("--count", options->count,
                   "end after so many pages; by default after one, on a terminal at Ctrl-C")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
}

}  // namespace nnd::cli
