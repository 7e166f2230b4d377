#include "state/awaited.h"

#include "context/clock.h"
#include "nccl_net_diag/causes.h"

namespace nnd::state {

namespace {

constinit Published<Awaited> g_awaited;
constinit Published<Latecomer> g_latecomer;

}  // namespace

diagnosis::RootProcess process_of(const Who& who) {
  return {who.rank, std::string(std::string_view(who.host)), who.pid};
}

diagnosis::TaskName name_of(const Doing& doing) {
  return {std::string(std::string_view(doing.func)), doing.number, doing.comm, doing.bytes, -1};
}

double Awaited::age_sec() const noexcept {
  const std::uint64_t now = context::mono_ns();
  return now > since_ns ? static_cast<double>(now - since_ns) / 1e9 : 0;
}

Published<Awaited>& awaited() noexcept { return g_awaited; }
Published<Latecomer>& latecomer() noexcept { return g_latecomer; }

diagnosis::Root root_of(const Awaited& awaited) {
  diagnosis::Root root;
  root.kind = awaited.kind;
  root.sec = awaited.age_sec();
  root.self = awaited.self;
  root.who = process_of(awaited.who);
  root.other = process_of(awaited.other);
  root.doing = name_of(awaited.doing);
  root.other_doing = name_of(awaited.other_doing);
  root.place = std::string_view(awaited.place);
  if (awaited.cause != 0 && awaited.cause <= nccl_net_diag::kCauses.size())
    root.cause = nccl_net_diag::kCauses[awaited.cause - 1u].cause;
  return root;
}

std::string awaited_text() {
  Awaited now;
  return g_awaited.get(now) && now.known() && !now.self ? diagnosis::whom(root_of(now))
                                                        : std::string();
}

}  // namespace nnd::state
