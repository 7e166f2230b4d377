#include "driver/job.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "driver/error.h"

namespace nnd::driver {

using nlohmann::json;

namespace {

// The rank's own deadline comes first: its answer says more than silence.
std::chrono::milliseconds patience_for(int deadline_ms) {
  return std::chrono::milliseconds(deadline_ms) + RankProcess::kPatience;
}

json connect_request(const Link& link, int context, const std::string& handle, int deadline_ms) {
  return {{"op", "connect"},
          {"context", context},
          {"dev", link.from_dev},
          {"handle", handle},
          {"deadline_ms", deadline_ms}};
}

json accept_request(const Link& link, int context, int deadline_ms) {
  return {{"op", "accept"},
          {"context", context},
          {"listener", link.listener},
          {"deadline_ms", deadline_ms}};
}

json transfer_request(const char* op, int conn, const Traffic& traffic, int deadline_ms) {
  json out = traffic.request();
  out["op"] = op;
  out["conn"] = conn;
  out["deadline_ms"] = deadline_ms;
  return out;
}

constexpr int kTransferDeadlineMs = 20000;

bool has_failed(const json& reply) {
  return reply.at("rc") != 0 || reply.value("timeout", false) || reply.contains("corrupt");
}

}  // namespace

json Transport::request() const {
  json out{{"op", "load"}, {"nccl", nccl}, {"cuda_device", cuda_device}};
  if (plugin.empty())
    out["builtin"] = builtin;
  else
    out["plugin"] = plugin;
  if (!symbols.empty()) out["symbols"] = symbols;
  return out;
}

json Traffic::request() const {
  return {{"sizes", sizes},   {"repeat", repeat},     {"group", group}, {"window", window},
          {"offset", offset}, {"optional", optional}, {"flush", flush}, {"asks", asks}};
}

void expect_success(const RankProcess& rank, const json& reply) {
  const auto fail = [&](const std::string& how) {
    throw Error(rank.name() + ": " + reply.value("stage", "a call") + " " + how);
  };
  if (reply.contains("corrupt"))
    fail("moved wrong data: " + reply.at("corrupt").get<std::string>());
  if (reply.value("timeout", false)) fail("was not done by its deadline: " + reply.dump());
  if (reply.at("rc") != 0) fail("failed with result " + reply.at("rc").dump());
}

Job::Job(std::vector<RankOptions> ranks) {
  for (const auto& options : ranks)
    ranks_.push_back(
        std::make_shared<RankProcess>("rank " + std::to_string(ranks_.size()), options));
}

Job Job::beside() const { return {ranks_, session_ + 1}; }

int Job::start(int index, json request) {
  request["session"] = session_;
  return rank(index).start(std::move(request));
}

json Job::run(int index, json request) {
  return rank(index).wait(start(index, std::move(request)));
}

std::vector<json> Job::all(const json& request) {
  std::vector<int> ids;
  for (int i = 0; i < static_cast<int>(ranks_.size()); ++i) ids.push_back(start(i, request));
  std::vector<json> out;
  for (std::size_t i = 0; i < ranks_.size(); ++i) out.push_back(ranks_[i]->wait(ids[i]));
  return out;
}

std::vector<json> Job::setup(const Transport& transport, std::uint64_t comm_id) {
  const auto loads = all(transport.request());
  const auto inits = all({{"op", "init"}, {"comm_id", comm_id}});
  const auto counts = all({{"op", "devices"}});
  std::vector<json> out;
  contexts_.clear();
  devices_.clear();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    expect_success(*ranks_[i], inits[i]);
    expect_success(*ranks_[i], counts[i]);
    contexts_.push_back(inits[i].at("context"));
    devices_.push_back(counts[i].at("count"));
    if (devices_.back() <= 0) throw Error(ranks_[i]->name() + ": the transport has no device");
    auto properties = json::array();
    for (int dev = 0; dev < devices_.back(); ++dev) {
      const auto reply = run(static_cast<int>(i), {{"op", "properties"}, {"dev", dev}});
      expect_success(*ranks_[i], reply);
      properties.push_back(reply.at("properties"));
    }
    out.push_back({{"load", loads[i]},
                   {"init", inits[i]},
                   {"devices", devices_.back()},
                   {"properties", properties}});
  }
  return out;
}

std::vector<Link> Job::ring(int channels) const {
  std::vector<Link> out;
  const int count = static_cast<int>(ranks_.size());
  for (int channel = 0; channel < channels; ++channel)
    for (int from = 0; from < count; ++from) {
      Link link;
      link.from = from;
      link.to = (from + 1) % count;
      link.channel = channel;
      link.from_dev = channel % device_count(link.from);
      link.to_dev = channel % device_count(link.to);
      out.push_back(link);
    }
  return out;
}

void Job::open(std::vector<Link>& links, int deadline_ms) {
  std::vector<std::pair<int, int>> asked;  // ids of connect and accept
  for (auto& link : links) {
    auto listening =
        run(link.to, {{"op", "listen"}, {"context", context(link.to)}, {"dev", link.to_dev}});
    expect_success(rank(link.to), listening);
    link.listener = listening.at("listener");
    const int accept = start(link.to, accept_request(link, context(link.to), deadline_ms));
    const int connect = start(
        link.from, connect_request(link, context(link.from), listening.at("handle"), deadline_ms));
    asked.emplace_back(connect, accept);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    auto& link = links[i];
    const auto connected = rank(link.from).wait(asked[i].first, patience_for(deadline_ms));
    expect_success(rank(link.from), connected);
    link.send_conn = connected.at("conn");
    const auto accepted = rank(link.to).wait(asked[i].second, patience_for(deadline_ms));
    expect_success(rank(link.to), accepted);
    link.recv_conn = accepted.at("conn");
  }
}

json Job::try_open(Link& link, int deadline_ms) {
  json out;
  out["listen"] =
      run(link.to, {{"op", "listen"}, {"context", context(link.to)}, {"dev", link.to_dev}});
  if (out["listen"].at("rc") != 0) return out;
  link.listener = out["listen"].at("listener");
  const int accept = start(link.to, accept_request(link, context(link.to), deadline_ms));
  const int connect = start(link.from, connect_request(link, context(link.from),
                                                       out["listen"].at("handle"), deadline_ms));
  auto [connected, accepted] =
      wait_for_both({Asked{link.from, connect}, Asked{link.to, accept}}, deadline_ms);
  out["connect"] = std::move(connected);
  out["accept"] = std::move(accepted);
  link.send_conn = out["connect"].value("conn", 0);
  link.recv_conn = out["accept"].value("conn", 0);
  return out;
}

std::vector<std::uint64_t> Job::move(const std::vector<Link>& links, const Traffic& traffic) {
  std::vector<std::pair<int, int>> asked;
  for (const auto& link : links) {
    const int recv =
        start(link.to, transfer_request("recv", link.recv_conn, traffic, kTransferDeadlineMs));
    const int send =
        start(link.from, transfer_request("send", link.send_conn, traffic, kTransferDeadlineMs));
    asked.emplace_back(send, recv);
  }
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto patience = patience_for(kTransferDeadlineMs);
    const auto received = rank(links[i].to).wait(asked[i].second, patience);
    const auto sent = rank(links[i].from).wait(asked[i].first, patience);
    // A rank that waited in vain says less than the one that failed.
    if (sent.value("timeout", false)) expect_success(rank(links[i].to), received);
    expect_success(rank(links[i].from), sent);
    expect_success(rank(links[i].to), received);
    out.push_back(received.at("bytes"));
  }
  return out;
}

std::array<json, 2> Job::wait_for_both(const std::array<Asked, 2>& asked, int deadline_ms) {
  constexpr int kGraceMs = 2000;  // also on a machine that is busy
  constexpr auto kTick = std::chrono::milliseconds(1);
  const auto end = Clock::now() + patience_for(deadline_ms);
  std::array<std::optional<json>, 2> replies;
  while (!replies[0] && !replies[1] && Clock::now() < end) {
    for (std::size_t i = 0; i < asked.size(); ++i)
      replies[i] = rank(asked[i].rank).poll(asked[i].id);
    std::this_thread::sleep_for(kTick);
  }
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (replies[i] && !replies[1 - i] && has_failed(*replies[i]))
      rank(asked[1 - i].rank)
          .run({{"op", "hurry"}, {"request", asked[1 - i].id}, {"ms", kGraceMs}});
  std::array<json, 2> out;
  for (std::size_t i = 0; i < asked.size(); ++i)
    out[i] = replies[i] ? std::move(*replies[i])
                        : rank(asked[i].rank).wait(asked[i].id, patience_for(deadline_ms));
  return out;
}

json Job::try_move(const Link& link, const Traffic& traffic, int deadline_ms) {
  const int recv = start(link.to, transfer_request("recv", link.recv_conn, traffic, deadline_ms));
  const int send = start(link.from, transfer_request("send", link.send_conn, traffic, deadline_ms));
  auto [sent, received] =
      wait_for_both({Asked{link.from, send}, Asked{link.to, recv}}, deadline_ms);
  return {{"send", std::move(sent)}, {"recv", std::move(received)}};
}

std::vector<std::uint64_t> Job::carry(std::vector<Link> links, const Traffic& traffic) {
  open(links);
  auto bytes = move(links, traffic);
  close(links);
  return bytes;
}

void Job::close(std::vector<Link>& links) {
  const auto close_one = [this](int rank_index, const char* kind, int& id) {
    if (id == 0) return;
    expect_success(rank(rank_index), run(rank_index, {{"op", "close"}, {kind, id}}));
    id = 0;
  };
  for (auto& link : links) {
    close_one(link.from, "conn", link.send_conn);
    close_one(link.to, "conn", link.recv_conn);
    close_one(link.to, "listener", link.listener);
  }
}

void Job::finish() {
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    expect_success(*ranks_[i],
                   run(static_cast<int>(i), {{"op", "finalize"}, {"context", contexts_[i]}}));
  all({{"op", "unload"}});
}

void Job::exit() {
  all({{"op", "exit"}});
  for (auto& rank : ranks_)
    if (const int status = rank->wait_exit(); status != 0)
      throw Error(rank->name() + " ended with wait status " + std::to_string(status));
}

}  // namespace nnd::driver
