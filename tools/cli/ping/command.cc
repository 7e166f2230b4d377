#include "cli/ping/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/find_nccl.h"
#include "cli/common/guarded.h"
#include "cli/common/interrupt.h"
#include "cli/common/scratch_dir.h"
#include "cli/common/size.h"
#include "cli/exchange/token.h"
#include "cli/ping/html.h"
#include "cli/ping/run.h"
#include "cli/ping/text.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr const char* kWhat =
    "NCCL's own IB transport between two hosts, from host memory: no GPU is needed.\n\n"
    "On one host:    nccl-net-diag ping --listen\n"
    "  prints the line to run on the other, with a token that only the two know.\n"
    "On the other:   nccl-net-diag ping HOST --token TOKEN\n"
    "  connects each HCA port with the one of the same name over there, moves verified data,\n"
    "  measures, and prints the result. --matrix: each port with each.\n"
    "Under mpirun, srun or torchrun, one task a host: nccl-net-diag ping --hosts FILE (a line per\n"
    "  task, the first is where task 0 listens), with the token in NCCL_NET_DIAG_TOKEN.\n\n"
    "It says what NCCL takes of each host's HCAs and why, which GID and MTU it uses, which pairs\n"
    "connect, errno and cause of the others, what the policy says to each, and the environment to\n"
    "copy. Only the given hosts are talked to. The token never crosses the wire.\n\n"
    "It doesn't show: GPU memory and GPUDirect RDMA, more than one pair at a time, and what needs\n"
    "more than a connection's load.";

struct Options {
  PingRun run;
  std::string target, nccl, token, token_file, hosts_file, html;
  std::vector<std::string> sizes{"1M"};
  std::string listen;
  bool listening = false;
  double duration = 0.5, pair_deadline = 20, deadline = 3600;
  bool json = false;
  bool quiet = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<TcpAddress> read_hosts(const std::string& file, int tasks) {
  std::ifstream in(file);
  if (!in) throw CallError(kWrongCall, "hosts", fmt::format("{} can't be read", file), file);
  std::vector<TcpAddress> out;
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

void check_sizes(Options& options) {
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

int print_result(const Options& options, const PingResult& result) {
  if (!options.html.empty()) {
    std::ofstream out(options.html);
    out << render_ping_html(result);
    if (!out.flush())
      throw CallError(kNotExamined, "html", options.html + " can't be written", options.html);
  }
  if (options.json)
    fmt::print("{}\n", to_json(result).dump(2, ' ', false, json::error_handler_t::replace));
  else
    fmt::print("{}", render_ping(result));
  return result.exit_code;
}

int listen(Options& options) {
  auto& run = options.run;
  const bool made = run.token.empty();
  if (made) run.token = new_token();
  const TcpAddress address =
      options.listen.empty() ? TcpAddress{"", kPingPort} : parse_ping_address(options.listen);
  return listen_for_ping(run, address, [&](const std::string& port) {
    const auto name = address.host.empty() ? host_name() : address.host;
    const auto target = TcpAddress{name, port}.text();
    if (options.json)
      fmt::print("{}\n", json{{"listening", {{"address", name}, {"port", std::stoi(port)}}},
                              {"token", made ? json(run.token) : json()}}
                             .dump());
    else
      fmt::print("Listening on {}. On the other host, run:\n  {}nccl-net-diag ping {}\n", target,
                 made ? fmt::format("NCCL_NET_DIAG_TOKEN={} ", run.token) : "", target);
    std::fflush(stdout);
  });
}

void check_call(const Options& options, const std::optional<LaunchedTask>& task) {
  const int ways = (options.target.empty() ? 0 : 1) + (options.listening ? 1 : 0) +
                   (options.hosts_file.empty() ? 0 : 1);
  if (ways != 1)
    throw CallError(kWrongCall, "call",
                    ways == 0 ? "say --listen here, or the HOST where it runs; --help shows both"
                              : "HOST, --listen and --hosts exclude each other");
  if (!options.hosts_file.empty() && !task)
    throw CallError(kWrongCall, "launcher",
                    "--hosts is for a task of mpirun, srun or torchrun; by hand: --listen there, "
                    "HOST here");
  if (options.listening && (options.run.matrix || !options.run.peer_hcas.empty()))
    throw CallError(kWrongCall, "call", "the side that calls says what is pinged, not --listen");
}

int ping(Options& options) {
  const InterruptGuard guard;
  auto& run = options.run;
  const auto task = launched_task(variable);
  check_call(options, task);
  check_sizes(options);
  run.token = find_token(options.token, options.token_file, variable);
  unsetenv("NCCL_NET_DIAG_TOKEN");  // not for the processes that are started here
  if (run.token.empty() && !options.hosts_file.empty()) run.token = job_token(variable);
  if (run.token.empty() && !options.listening)
    throw CallError(kWrongCall, "token",
                    "the token is missing: --listen prints it; give it with --token, --token-file "
                    "or NCCL_NET_DIAG_TOKEN");
  run.host.nccl = find_nccl(options.nccl, variable);
  const ScratchDir scratch("ping");
  run.host.scratch = scratch.path();
  run.stop = [] { return InterruptGuard::interrupted(); };
  run.tell = [&options](const std::string& text) {
    if (!options.quiet) fmt::print(stderr, "{}\n", text);
  };
  run.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.deadline));
  if (options.listening) return listen(options);
  if (!task || options.hosts_file.empty())
    return print_result(options, ping_listener(run, parse_ping_address(options.target)));
  const auto result = ping_as_task(run, *task, read_hosts(options.hosts_file, task->tasks));
  return result ? print_result(options, *result) : kFine;
}

}  // namespace

void add_ping(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* const command = app.add_subcommand("ping", kWhat);
  command->add_option("HOST", options->target, "HOST or HOST:PORT where --listen runs");
  auto* const listen =
      command
          ->add_option("--listen", options->listen,
                       "wait here; on this address (ADDR or ADDR:PORT; by default all, port 18515; "
                       "port 0: any)")
          ->expected(0, 1);
  command->add_option("--hosts", options->hosts_file,
                      "under a launcher: a file with a host a line, in the order of the tasks");
  command->add_option(
      "--token", options->token,
      "the secret that both sides know, 16 characters at least. Other users of this "
      "host can see a command line; better:");
  command->add_option("--token-file", options->token_file,
                      "its first line is the token (also: variable NCCL_NET_DIAG_TOKEN)");
  command->add_flag("--matrix", options->run.matrix, "each HCA port here with each one there");
  command
      ->add_option("--hca", options->run.hcas,
                   "HCAs of this host: mlx5_0, mlx5_*, mlx5_0:1 (default: all that NCCL takes)")
      ->delimiter(',');
  command->add_option("--peer-hca", options->run.peer_hcas, "the same for the other host")
      ->delimiter(',');
  command->add_option("--sizes", options->sizes, "messages for bandwidth: 64K,1M,8M")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--duration", options->duration,
                   "seconds of each figure: latency, and bandwidth per size and direction")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  command
      ->add_option("--pair-deadline", options->pair_deadline,
                   "seconds for a pair, after loading; then the next one has its turn")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->add_option("--deadline", options->deadline, "seconds for everything, waiting included")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command->add_option("--nccl", options->nccl,
                      "libnccl.so.2 to run: a file or its directory (default: what is found in "
                      "LD_LIBRARY_PATH, the Python environment, the system)");
  command->add_flag("--json", options->json, "the result as JSON");
  command->add_option("--html", options->html, "the result as a page in this file, too");
  command->add_flag("--quiet", options->quiet, "no progress on stderr");
  command->callback([options, listen, &exit_code] {
    options->listening = listen->count() > 0;
    exit_code = guarded("ping", options->json, [&] { return ping(*options); });
  });
}

}  // namespace nnd::cli
