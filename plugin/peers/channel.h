// The channel between the shims of a job: one UDP socket, served by the watch's thread, over which
// processes that have a connection between them tell each other what they wait for. It opens
// nothing where it isn't wanted (NCCL_NET_DIAG_PEERS), and what isn't sealed gets no answer.
//
// Thread-safe: NCCL's threads hand over what handles tell, the watch's thread does the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "context/gid.h"
#include "peers/engine.h"
#include "peers/seal.h"

namespace nnd::peers {

// What a listener's handle says of its process's channel, and where a peer reaches it.
struct ChannelEndpoint {
  std::uint16_t port = 0;
  Secret secret{};
};

struct ChannelSetup {
  Who self;                  // what is known of this process by now
  std::uint64_t job = 0;     // a number of its launcher's job; 0: not known
  bool alone = true;         // on its node, as its launcher says
  std::uint32_t ask_ms = 0;  // how long it waits before it asks
  std::string directory;     // where the processes of this node find each other
  // What this process is by now, and who hears what one is that it has a connection with, once
  // each. On the watch's thread; empty: nobody wants to know.
  std::function<const ProcessFacts&()> facts = {};
  std::function<void(const Who&, const ProcessFacts&)> met = {};
};
// From now on there is one.
void start(ChannelSetup start) noexcept;
bool wanted() noexcept;

// --- NCCL's threads

// A process listens at this address, as its listener of that number, and others will learn of its
// channel. Nothing: there is none.
std::optional<ChannelEndpoint> listening(std::uint32_t listen, const context::Gid& ip) noexcept;
// It connects to that one's listener. anywhere: this process may open its port at any address,
// where it has no listener itself.
void connecting(std::uint64_t proc, std::uint32_t listen, const context::Gid& ip,
                const ChannelEndpoint& endpoint, bool anywhere = true) noexcept;

// --- the watch's thread

// Serves it for this long, or sleeps.
void serve(std::uint64_t ns) noexcept;
// Ends what serve() waits for; on any thread.
void wake() noexcept;
// Who has connected to that listener of ours; 0: not known.
std::uint64_t process_connected_to(std::uint32_t listen) noexcept;
// Somebody has asked within the last seconds.
bool asked() noexcept;
// Nothing that its peers should hear before it ends is on its way.
bool settled() noexcept;
// What this process sees of itself.
void look(LocalView own) noexcept;
// Collectives that have ended since the last look, in their order.
void note_collective_times(const std::vector<Stay>& stays) noexcept;
state::Latecomer latecomer() noexcept;
struct Answer {
  Claim claim;
  bool stable = false;           // nobody has said otherwise for a while
  std::uint32_t awaited_ms = 0;  // for how long others wait for this process
};
Answer answer() noexcept;

// In a forked child: it is the parent's.
void forget() noexcept;

}  // namespace nnd::peers
