#include "cli/ping/command.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <ctime>
#include <sstream>

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
#include "cli/common/size.h"
#include "cli/exchange/token.h"
#include "cli/ping/emulated.h"
#include "cli/ping/html.h"
#include "cli/ping/text.h"
#include "config/text_file.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

std::vector<TcpAddress> read_hosts(const std::string& file, int tasks) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  using config::AllowedFileType;
  const auto read =
      config::read_text_file(file, "list of hosts", kLargest, AllowedFileType::kRegularOrPipe);
  if (!read.problem.empty()) throw CallError(kWrongCall, "hosts", file + " " + read.problem, file);
  std::vector<TcpAddress> out;
  std::istringstream in(read.text);
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find_first_of("# \t\r"));
    if (!line.empty()) out.push_back(parse_ping_address(line));
  }
  if (static_cast<int>(out.size()) != tasks)
    throw CallError(kWrongCall, "hosts",
                    fmt::format("{} names {} hosts, and there are {} tasks: one task a host", file,
                                out.size(), tasks),
                    file);
  return out;
}

void check_sizes(PingOptions& options) {
  auto& traffic = options.run.traffic;
  traffic.sizes.clear();
  for (const auto& text : options.sizes) {
    const auto size = parse_size(text);
    if (size < 8 || size > kLargestPing)
      throw CallError(kWrongCall, "size", fmt::format("sizes are 8 bytes to 64M, and not {}", text),
                      text);
    traffic.sizes.push_back(size);
  }
  if (traffic.sizes.size() > kMostPingSizes)
    throw CallError(kWrongCall, "size", fmt::format("{} sizes at most", kMostPingSizes));
  traffic.stream_ms = traffic.latency_ms = static_cast<int>(options.duration * 1000);
  traffic.deadline_ms = static_cast<int>(options.pair_deadline * 1000);
  const double least = options.duration * static_cast<double>(1 + 2 * traffic.sizes.size());
  if (least >= options.pair_deadline)
    throw CallError(kWrongCall, "deadline",
                    fmt::format("a pair takes {:g} s at least with these sizes and this duration; "
                                "--pair-deadline is {:g} s",
                                least, options.pair_deadline));
}

Answer answer_of(const PingOptions& options, const OutputFile& page, const PingResult& result) {
  Answer out;
  const bool kept = page.write([&](std::ostream& to) {
    to << render_ping_html(result, {options.command, now_text()});
  });
  out.exit_code = kept ? result.exit_code : kNotExamined;
  out.verdict = result.text;
  out.body = to_json(result);
  out.warned =
      !result.slow.empty() || std::any_of(result.hosts.begin(), result.hosts.end(),
                                          [](const auto& host) { return host.refused != 0; });
  out.page = [result](const Screen& screen) { return render_ping(result, screen); };
  out.brief = [result] {
    std::vector<std::string> lines;
    for (const auto& pair : result.pairs) lines.push_back(ping_line(pair));
    return lines;
  };
  return out;
}

int listen(PingOptions& options, const Calling& calling) {
  auto& run = options.run;
  const bool made = run.token.empty();
  if (made) run.token = new_token();
  const TcpAddress address =
      options.listen.empty() ? TcpAddress{"", kPingPort} : parse_ping_address(options.listen);
  return listen_for_ping(run, address, [&](const std::string& port) {
    const auto name = address.host.empty() ? host_name() : address.host;
    const auto target = TcpAddress{name, port}.text();
    if (calling.json)
      print_out(json{{"listening", {{"address", name}, {"port", std::stoi(port)}}},
                     {"token", made ? json(run.token) : json()}}
                    .dump() +
                "\n");
    else
      print_out(fmt::format("Listening on {}. On the other host, run:\n  {}nccl-net-diag ping {}\n",
                            target, made ? fmt::format("NCCL_NET_DIAG_TOKEN={} ", run.token) : "",
                            target));
    flush_output();
  });
}

void check_call(const PingOptions& options, const std::optional<LaunchedTask>& task) {
  const int ways = (options.target.empty() ? 0 : 1) + (options.listening ? 1 : 0) +
                   (options.hosts_file.empty() ? 0 : 1) + (options.scenario.empty() ? 0 : 1);
  if (ways != 1)
    throw CallError(kWrongCall, "call",
                    ways == 0 ? "say --listen here, or the HOST where it runs; --help shows both"
                              : "HOST, --listen, --hosts and --scenario exclude each other");
  if (!options.hosts_file.empty() && !task)
    throw CallError(kWrongCall, "launcher",
                    "--hosts is for a task of mpirun, srun or torchrun; by hand: --listen there, "
                    "HOST here");
  if (options.listening && (options.run.matrix || !options.run.peer_hcas.empty()))
    throw CallError(kWrongCall, "call", "the side that calls says what is pinged, not --listen");
}

}  // namespace

Answer ping(PingOptions& options, const Calling& calling) {
  const InterruptGuard guard;
  auto& run = options.run;
  const auto task = launched_task(variable);
  check_call(options, task);
  check_sizes(options);
  require_plugin();
  require_rank_program();
  if (!options.scenario.empty())
    return already_told(ping_on_fabric(options.scenario, find_nccl(options.nccl, variable),
                                       InterruptGuard::interrupted));
  run.token = find_token(options.token, options.token_file, variable);
  unsetenv("NCCL_NET_DIAG_TOKEN");  // not for the processes that are started here
  if (run.token.empty() && !options.hosts_file.empty()) run.token = job_token(variable);
  if (run.token.empty() && !options.listening)
    throw CallError(kWrongCall, "token",
                    "the token is missing: --listen prints it; give it with --token, --token-file "
                    "or NCCL_NET_DIAG_TOKEN");
  run.setup.nccl = find_nccl(options.nccl, variable);
  const ScratchDir scratch("ping");
  run.setup.scratch = scratch.path();
  run.stop = [] { return InterruptGuard::interrupted(); };
  run.tell = [&calling](const std::string& text) {
    if (!calling.quiet) print_err(text + "\n");
  };
  run.deadline = in_seconds(options.deadline);
  if (options.listening) return already_told(listen(options, calling));
  const OutputFile page(options.html, kPageStart);
  if (!task || options.hosts_file.empty())
    return answer_of(options, page, ping_listener(run, parse_ping_address(options.target)));
  const auto result = ping_as_task(run, *task, read_hosts(options.hosts_file, task->tasks).front());
  return result ? answer_of(options, page, *result) : already_told(kFine);
}

}  // namespace nnd::cli
