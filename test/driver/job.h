// Several ranks and the connections between them: what NCCL core sets up for a ring, step by step,
// so that a caller can stop, break or repeat any step.
#pragma once

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "driver/rank_process.h"

namespace nnd::driver {

// One direction from one rank to another.
struct Link {
  int from = 0, to = 0;  // ranks
  int channel = 0;
  int from_dev = 0, to_dev = 0;
  int listener = 0;                  // on `to`
  int send_conn = 0, recv_conn = 0;  // 0: not open
};

struct Transport {
  std::string nccl;          // libnccl's file
  std::string plugin;        // by NCCL's naming rules; empty: built-in
  std::string builtin;       // "IB" or "Socket", when there is no plugin
  bool cuda_device = false;  // make NCCL believe in a GPU: its socket transport asks which one
  std::string symbols = "";  // where libnccl is stripped: a file that has its symbols
  nlohmann::json request() const;
};

struct Traffic {
  std::vector<std::size_t> sizes = {1 << 20};
  std::size_t repeat = 1;
  std::size_t group = 1;   // receives per irecv; at most the device's max_recvs
  std::size_t window = 8;  // receives in flight
  std::size_t offset = 0;  // bytes past a page
  bool optional = false;   // the receiver does without the completion
  bool flush = false;      // as for data that a GPU will read
  bool asks = true;        // else nothing is tested, and ends with its deadline
  nlohmann::json request() const;
};

class Job {
 public:
  // Starts the ranks. Throws Error.
  explicit Job(std::vector<RankOptions> ranks);

  // The same processes with another libnccl, beside the first: with connections of its own. Only
  // one of them is to end the ranks.
  Job beside() const;

  std::size_t size() const { return ranks_.size(); }
  RankProcess& rank(int index) { return *ranks_.at(static_cast<std::size_t>(index)); }

  // A request to one rank, and its reply.
  nlohmann::json run(int index, nlohmann::json request);

  // The same request to every rank at once; the replies in rank order.
  std::vector<nlohmann::json> all(const nlohmann::json& request);

  // Loads the transport, initialises it as for one communicator, and asks for devices and
  // properties. Each reply: {"load", "init", "devices", "properties": [...]}. Throws Error unless
  // everything succeeds.
  std::vector<nlohmann::json> setup(const Transport& transport, std::uint64_t comm_id = 0x5eed);

  // A ring: `channels` links from every rank to the next, channel c over device c modulo devices.
  std::vector<Link> ring(int channels) const;

  // Opens all links at once. Throws
  // Error naming rank, stage and return code of the first that fails.
  void open(std::vector<Link>& links, int deadline_ms = 20000);

  // The same for one link, with the replies instead of an exception: {"listen", "connect",
  // "accept"}; those that were not reached are missing. Where one end has failed the other, which
  // may wait for it in vain, has two seconds more.
  nlohmann::json try_open(Link& link, int deadline_ms = 20000);

  // Moves verified data over all links at once. Throws Error unless all of it arrives intact.
  // The value: bytes that arrived per link.
  std::vector<std::uint64_t> move(const std::vector<Link>& links, const Traffic& traffic);

  // The same for one link, with the replies instead of an exception: {"send", "recv"}; as
  // try_open() where one end has failed.
  nlohmann::json try_move(const Link& link, const Traffic& traffic, int deadline_ms = 20000);

  // Opens the links, moves the traffic over them, and closes them; throws and returns as these do.
  std::vector<std::uint64_t> carry(std::vector<Link> links, const Traffic& traffic = {});

  // Closes what is open, in the order of the links: sender, receiver, listener.
  void close(std::vector<Link>& links);

  // finalize on every rank for setup()'s communicator, then the plugin is unloaded as NCCL does.
  void finish();

  // Ends every rank normally. Throws Error unless each exits with 0.
  void exit();

  int context(int index) const { return contexts_.at(static_cast<std::size_t>(index)); }
  int device_count(int index) const { return devices_.at(static_cast<std::size_t>(index)); }

 private:
  Job(std::vector<std::shared_ptr<RankProcess>> ranks, int session)
      : ranks_(std::move(ranks)), session_(session) {}
  int start(int index, nlohmann::json request);
  struct Asked {
    int rank, id;
  };
  std::array<nlohmann::json, 2> wait_for_both(const std::array<Asked, 2>& asked, int deadline_ms);

  std::vector<std::shared_ptr<RankProcess>> ranks_;
  int session_ = 0;  // which libnccl of the processes
  std::vector<int> contexts_, devices_;
};

// Throws Error unless the reply of `rank` tells success.
void expect_success(const RankProcess& rank, const nlohmann::json& reply);

}  // namespace nnd::driver
