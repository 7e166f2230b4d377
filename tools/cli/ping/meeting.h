// Whether hosts reach each other by TCP where NCCL's ranks would meet: each listens at the address
// that its ranks would give the others, and the others come there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nnd::cli {

// Listens until it is asked to elsewhere, or ends; who comes is not answered.
class MeetingListener {
 public:
  MeetingListener() = default;
  ~MeetingListener();
  MeetingListener(const MeetingListener&) = delete;
  MeetingListener& operator=(const MeetingListener&) = delete;

  // The port; empty: that is no address of this host.
  std::string listen_at(const std::string& address);

 private:
  int fd_ = -1;
};

// One host that was to come to another.
struct MeetingTry {
  std::string from, to;         // hosts
  std::string address, netdev;  // of the latter
  int error = 0;                // errno

  std::string outcome() const;  // "listens", "refused", "reset", "silent", "unreachable"
};

// What keeps one from the other, where it does not come there, and what to do.
std::string trouble_of(const MeetingTry& tried);
std::string remedy_of(const MeetingTry& tried);

nlohmann::json to_json(const MeetingTry& tried);

}  // namespace nnd::cli
