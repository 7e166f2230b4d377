#include "job/labels.h"

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/catch.h"

namespace nnd::test {

using nlohmann::json;

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << (way.sends ? "send " : "recv ") << way.rank << "-" << way.peer << " channel "
             << way.channel;
}

// Those that are made in one group have a thread each, and their lines come mixed.
std::vector<Ways> rings_of_nccl(const softcuda::RankResult& rank) {
  static const std::regex start(R"(:(\d+) \[\d+\] NCCL INFO .* Init START)");
  static const std::regex ring(R"(:(\d+) \[\d+\] NCCL INFO Ring (\d+) : (\d+) -> (\d+) -> (\d+))");
  std::vector<Ways> communicators;
  std::map<std::string, std::size_t> by_thread;
  std::istringstream lines(rank.output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_search(line, m, start)) {
      by_thread[m[1]] = communicators.size();
      communicators.emplace_back();
    }
    if (!std::regex_search(line, m, ring) || !by_thread.contains(m[1])) continue;
    const int channel = std::stoi(m[2]), own = std::stoi(m[4]);
    Ways& ways = communicators[by_thread.at(m[1])];
    ways.insert({false, own, std::stoi(m[3]), channel});
    ways.insert({true, own, std::stoi(m[5]), channel});
  }
  return communicators;
}

std::set<Way> transfers_of_nccl(const softcuda::RankResult& rank) {
  static const std::regex line(
      R"(Channel (\d+)/1 : (\d+)\[\w+\] -> (\d+)\[\w+\] \[(send|receive)\] via NET)");
  std::set<Way> ways;
  for (std::sregex_iterator at(rank.output.begin(), rank.output.end(), line), end; at != end;
       ++at) {
    const std::smatch& m = *at;
    const bool sends = m[4] == "send";
    const int from = std::stoi(m[2]), to = std::stoi(m[3]);
    ways.insert({sends, sends ? from : to, sends ? to : from, std::stoi(m[1])});
  }
  return ways;
}

std::map<std::string, Ways> labelled(const FabricJob& job, int rank, const std::string& name,
                                     const std::string& purpose) {
  std::map<std::string, Ways> ways;
  for (const json& e : job.events(rank, name))
    if (e.contains("how") && e.at("purpose") == purpose)
      ways[e.at("comm")].insert(
          {e.at("dir") == "send", e.at("rank"), e.at("peer").at("rank"), e.at("channel")});
  return ways;
}

std::vector<std::string> hashes(const FabricJob& job, int rank) {
  std::vector<std::string> out;
  for (const json& e : job.events(rank, "coll.count")) out.insert(out.begin(), e.at("comm"));
  return out;
}

std::map<std::string, std::pair<int, int>> members(const FabricJob& job, int rank) {
  std::map<std::string, std::pair<int, int>> out;
  for (const json& e : job.events(rank, "comm.init"))
    if (e.contains("profiler_api")) out[e.at("comm")] = {e.at("rank"), e.value("nranks", -1)};
  return out;
}

std::map<std::string, std::map<std::string, Count>> counts(const FabricJob& job, int rank,
                                                           const std::string& list) {
  std::map<std::string, std::map<std::string, Count>> out;
  for (const json& e : job.events(rank, "coll.count"))
    for (const json& one : e.value(list, json::array())) {
      Count& count = out[e.at("comm")][one.at("kind")];
      count.first += one.at("calls").get<std::uint64_t>();
      count.second += one.at("bytes").get<std::uint64_t>();
      std::uint64_t sizes = 0;
      for (const auto& [size, calls] : one.at("sizes").items()) sizes += calls.get<std::uint64_t>();
      CHECK(sizes == one.at("calls"));
    }
  return out;
}

}  // namespace nnd::test
