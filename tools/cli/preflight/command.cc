#include "cli/preflight/command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>

#include "cli/common/call_error.h"
#include "cli/common/environment.h"
#include "cli/common/exit_code.h"
#include "cli/common/find_nccl.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/output_file.h"
#include "cli/common/page_origin.h"
#include "cli/common/parts.h"
#include "cli/common/scratch_dir.h"
#include "cli/exchange/token.h"
#include "cli/preflight/ask.h"
#include "cli/preflight/host_list.h"
#include "cli/preflight/html.h"
#include "cli/preflight/saved.h"
#include "cli/preflight/show.h"

namespace nnd::cli {

namespace {

Answer answer_of(const PreflightOptions& options, const OutputFile& page, const Asked& asked) {
  const auto& allocation = asked.allocation;
  const auto& problems = asked.problems;
  const bool kept = page.write([&](std::ostream& to) {
    to << preflight_html(allocation, problems, {options.command, now_text()});
  });
  Answer out;
  out.exit_code = !allocation.go() ? kBroken : problems.empty() && kept ? kFine : kNotExamined;
  out.verdict = verdict_of(allocation, problems);
  out.body = to_json(allocation, problems);
  out.warned = !allocation.findings.empty();
  out.page = [asked](const Screen& screen) {
    return page_of(asked.allocation, asked.problems, screen);
  };
  out.brief = [asked] { return lines_of(asked.allocation); };
  return out;
}

TcpAddress root_of(const PreflightOptions& options, const LaunchedTask& task) {
  const auto& text = options.root.empty() ? task.root : options.root;
  if (text.empty())
    throw CallError(
        kWrongCall, "root",
        "under " + task.launcher + " give --root HOST or HOST:PORT, where task 0 can listen");
  return parse_ping_address(text);
}

// Where this call listens for the hosts that it starts itself on.
TcpAddress own_root(const PreflightOptions& options) {
  return parse_ping_address(options.root.empty() ? host_name() : options.root);
}

// A path that is this directory's is not another host's.
std::string nccl_for_others(const std::string& nccl) {
  std::error_code error;
  return std::filesystem::exists(nccl, error) ? std::filesystem::absolute(nccl).string() : nccl;
}

bool is_by_hand(const PreflightOptions& options) {
  return !options.from.empty() || !options.hosts.empty() || !options.scenario.empty();
}

void check_call(const PreflightOptions& options, const std::optional<LaunchedTask>& task) {
  const int ways = (options.from.empty() ? 0 : 1) + (options.hosts.empty() ? 0 : 1) +
                   (options.scenario.empty() ? 0 : 1);
  if (ways > 1)
    throw CallError(kWrongCall, "call", "--from, --hosts and --scenario exclude each other");
  if (ways == 0 && !task)
    throw CallError(kWrongCall, "call",
                    "run it as a launcher's task (srun, mpirun -N 1), or give --hosts a list of "
                    "hosts or --from the results of check --json; --help shows all");
  if (!options.hosts.empty() && task)
    throw CallError(kWrongCall, "call",
                    "--hosts is for a call by hand: " + task->launcher + " has started its tasks");
  if (!options.hosts.empty() && !options.token_file.empty())
    throw CallError(kWrongCall, "call", "--hosts makes a token of its own: no --token-file");
  if (!is_by_hand(options) && task->local_task != 0 && !task->local_tasks)
    throw CallError(kWrongCall, "tasks",
                    fmt::format("this is a second task of its node, and {} does not say how many "
                                "there are: start one a node",
                                task->launcher));
}

}  // namespace

Answer preflight(PreflightOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  const auto task = launched_task(variable);
  check_call(options, task);
  // A node's first task speaks for the others.
  const bool launched = !is_by_hand(options);
  if (launched && task->local_task != 0) return already_told(kFine);
  const bool answers = launched && task->task != 0;
  const OutputFile page(answers ? "" : options.html, kPageStart);
  if (!options.from.empty()) {
    auto saved = saved_nodes(options.from);
    return answer_of(options, page, {allocation_of(saved.nodes, {}), std::move(saved.problems)});
  }
  require_plugin();
  require_rank_program();
  PingRun run;
  if (options.hosts.empty()) run.setup.nccl = find_nccl(options.nccl, variable);
  run.deadline = in_seconds(options.deadline);
  run.arrival = in_seconds(options.arrival);
  run.stop = [] { return InterruptGuard::interrupted(); };
  run.tell = [&calling](const std::string& text) {
    if (!calling.quiet) print_err(text + "\n");
  };
  if (!options.scenario.empty())
    return answer_of(options, page, ask_on_fabric(std::move(run), options.scenario));
  if (!options.hosts.empty()) {
    unsetenv("NCCL_NET_DIAG_TOKEN");  // this run has one of its own
    return answer_of(options, page,
                     ask_over_ssh(std::move(run), read_host_list(options.hosts), own_root(options),
                                  nccl_for_others(options.nccl), options.arrival));
  }
  run.token = find_token("", options.token_file, variable);
  unsetenv("NCCL_NET_DIAG_TOKEN");  // not for the processes that are started here
  if (run.token.empty()) run.token = job_token(variable);
  const ScratchDir scratch("preflight");
  run.setup.scratch = scratch.path();
  const auto asked = ask_as_task(std::move(run), *task, root_of(options, *task));
  return asked ? answer_of(options, page, *asked) : already_told(kFine);
}

}  // namespace nnd::cli
