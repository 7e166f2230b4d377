// `nccl-net-diag ping`: NCCL's own IB transport between two hosts, no GPU.
#pragma once

namespace CLI {
class App;
}

namespace nnd::cli {

// Adds the subcommand. Parsing it stores in `exit_code` what running it gave.
void add_ping(CLI::App& app, int& exit_code);

}  // namespace nnd::cli
