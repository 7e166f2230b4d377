// `nccl-net-diag rehearse`: a real NCCL job over this machine's own HCAs without taking a GPU.
#pragma once

namespace CLI {
class App;
}

namespace nnd::cli {

// Adds the subcommand. Parsing it stores in `exit_code` what running it gave.
void add_rehearse(CLI::App& app, int& exit_code);

}  // namespace nnd::cli
