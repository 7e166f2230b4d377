// What a peer says, as a hostile rank of the job could write it: opened, and to be understood.
#include "peers/directory.h"
#include "peers/engine.h"
#include "peers/facts_differ.h"
#include "peers/message.h"
#include "peers/seal.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static nnd::peers::Engine engine{{}};
  static std::uint64_t now_ms = 1'000'000;
  const std::span<const std::uint8_t> bytes(data, size);
  (void)nnd::peers::look_outside(bytes);
  const auto message = nnd::peers::decode(bytes);
  if (!message) return 0;
  if (!nnd::peers::decode(nnd::peers::encode(*message))) __builtin_trap();
  const nnd::peers::Variables variables{{1, {"NCCL_ALGO", "Ring"}}, {2, {"NCCL_IB_HCA", {}}}};
  nnd::peers::ProcessFacts facts;
  facts.transport = nnd::peers::Transport::kIb;
  facts.nccl = 22809;
  facts.qps = 1;
  for (const auto& one : differences(facts, message->introduction.facts, variables))
    if (one.what.empty() || one.here.size() + one.there.size() > 64) __builtin_trap();
  nnd::peers::LocalView own;
  own.state.who.proc = 1;
  own.waits_ms = 9000;
  own.edges.push_back(
      {2, 9000, {{false, 1, nnd::peers::EndState::kAwaitsData, 9000, {true, 1, 2}}}});
  engine.look(own, now_ms);
  engine.heard(size % 7 + 2, *message, now_ms);
  engine.tick(now_ms += 100);
  engine.take_out();
  engine.take_tries();
  return 0;
}
