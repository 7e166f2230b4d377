// `check --root`: whether this node reaches the one where a job's ranks meet.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/common/tcp.h"
#include "facts/netdev.h"
#include "facts/oob.h"

namespace nnd::cli {

struct RootTry {
  std::string root;            // as it was given
  std::string address;         // that the name stands for; empty: `why` says why there is none
  std::string source, netdev;  // by which this node goes there; empty: there is no way
  bool own = false;            // it is this node itself
  // Of its port: "listens", "refused", "reset", "silent", "unreachable"; empty: it was not tried.
  std::string outcome;
  std::string why;  // in errno's words, where there is one
};

// "HOST" or "HOST:PORT"; port "0" of the address: none was given.
std::optional<TcpAddress> root_address(const std::string& text);

// Looks the name up, asks the kernel for the way (nothing is sent), and connects where there is a
// port: at most three seconds. The first address that the name stands for counts, as NCCL has it.
RootTry try_root(const TcpAddress& root, const facts::Network& network);

// What keeps this node's ranks from coming there, in a sentence; empty: nothing that was seen.
std::string root_trouble(const RootTry& tried);
// What may keep others from this node's ranks: NCCL gives them the address of another interface.
std::string root_warning(const RootTry& tried, const facts::OobPick& bootstrap);

nlohmann::json root_json(const std::optional<RootTry>& tried);  // null: it was not asked for
std::string root_text(const nlohmann::json& tried);             // one line

}  // namespace nnd::cli
