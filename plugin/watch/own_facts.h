// What this process tells others that it has a connection with (peers/facts.h): from what is known
// of it already.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "facts/node.h"
#include "peers/facts.h"

namespace nnd::watch {

// What NCCL uses through this library, of which version; on any thread.
void note_transport(const std::string& name, int nccl_version, std::string_view version) noexcept;
// What was found when NCCL asked for GPUDirect of this HCA.
void note_gdr(std::string_view device, const facts::GdrState& state) noexcept;

// What follows from a node's facts; by device, what was found since.
using GdrFound = std::map<std::string, facts::GdrState, std::less<>>;
peers::ProcessFacts facts_of(const facts::Node& node, peers::Transport transport,
                             const GdrFound& gdr = {});
// NCCL's variables as they are set here, and those that its network has besides.
peers::Variables variables_of(const facts::Node& node);
// 22809 of "2.28.9"; 0: it is none.
std::uint32_t release_code(std::string_view text) noexcept;

// As of now. One thread.
class OwnFacts {
 public:
  const peers::ProcessFacts& now();
  const peers::Variables& variables() const { return variables_; }  // as of the last now()

 private:
  const facts::Node* node_ = nullptr;
  std::uint32_t noted_ = 0;  // how much was, when this was made
  peers::ProcessFacts facts_;
  peers::Variables variables_;
};

}  // namespace nnd::watch
