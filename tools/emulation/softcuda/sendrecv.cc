#include "sendrecv.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "log.h"
#include "primitives.h"

namespace softcuda {
namespace {

void play(const Communicator& comm, int channel_index, const Transfer& transfer) {
  constexpr int kP2pConnection = 1;
  log("sendrecv {} on channel {}", name_of(transfer.protocol), channel_index);
  const Channel channel = comm.channel(channel_index);
  std::vector<Connection> from, to;
  if (transfer.sending)
    to.push_back(channel.to(transfer.peer, kP2pConnection));
  else
    from.push_back(channel.from(transfer.peer, kP2pConnection));
  const Function function{.protocol = transfer.protocol};
  const ssize_t step = transfer.protocol == Protocol::kSimple ? comm.p2p_step_bytes()
                                                              : comm.step_bytes(transfer.protocol);
  Primitives prims(comm, from, to, kSingle, step, function);
  std::size_t done = 0;
  do {  // also an empty message takes a step
    const std::size_t bytes = std::min(transfer.chunk, transfer.bytes - done);
    if (transfer.sending)
      prims.send(transfer.data + done, nullptr, static_cast<ssize_t>(bytes));
    else
      prims.receive(transfer.data + done, static_cast<ssize_t>(bytes));
    done += bytes;
  } while (done < transfer.bytes && !prims.aborted());
}

}  // namespace

void play_transfers(const Communicator& comm, int channel, const Batch& batch) {
  for (const LocalCopy& copy : batch.copies)
    if (copy.bytes > 0 && copy.to != copy.from) std::memmove(copy.to, copy.from, copy.bytes);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < batch.transfers.size(); ++i)
    others.emplace_back([&, i] { play(comm, channel, batch.transfers[i]); });
  if (!batch.transfers.empty()) play(comm, channel, batch.transfers.front());
  for (auto& thread : others) thread.join();
}

}  // namespace softcuda
