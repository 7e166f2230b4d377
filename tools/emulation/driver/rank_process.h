// A rank as a process of its own, driven from here.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/clock.h"
#include "wire/json_socket.h"

namespace nnd::driver {

struct RankOptions {
  std::vector<std::string> command;  // the rank program, with what runs it in front (an emulator)
  std::map<std::string, std::string> environment;  // added to this process's
  std::vector<std::string> unset;                  // variables taken away first: names, or PREFIX*
  std::string output;  // file for its stdout and stderr; empty: inherited
};

// Owns the process: it is killed and reaped with the object. One thread at a time.
class RankProcess {
 public:
  // Throws Error where the program cannot be started.
  RankProcess(std::string name, const RankOptions& options);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }

  // Sends a request; its reply is had by wait(). Other requests may be sent meanwhile.
  int start(nlohmann::json request);

  // The reply to a request. Throws Error, naming rank and request, when the rank answers with an
  // error, is gone, or has not answered after `patience`.
  nlohmann::json wait(int id, std::chrono::milliseconds patience = kPatience);

  // The reply if it is there already. Throws Error as wait() does.
  std::optional<nlohmann::json> poll(int id);

  nlohmann::json run(nlohmann::json request, std::chrono::milliseconds patience = kPatience);

  void kill(int signal);

  // Waits for the process to end: its wait status (see waitpid). Throws Error when it doesn't.
  int wait_exit(std::chrono::milliseconds patience = kPatience);

  static constexpr std::chrono::milliseconds kPatience{60000};

 private:
  std::string what(int id) const;
  nlohmann::json take(int id);

  std::string name_;
  pid_t pid_ = -1;
  int status_ = 0;
  std::unique_ptr<wire::JsonSocket> socket_;
  int last_id_ = 0;
  std::map<int, std::string> asked_;       // request by id, for messages
  std::map<int, nlohmann::json> replies_;  // not yet asked for
};

}  // namespace nnd::driver
