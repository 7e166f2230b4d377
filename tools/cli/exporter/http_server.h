// Answers requests over HTTP in the thread that runs it. Whatever calls is bounded: in how many
// they are, what each takes of memory, and how long it stays. A connection brings one request,
// whose body is not read.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "cli/exporter/http.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace nnd::cli {

class HttpServer {
 public:
  using Clock = std::chrono::steady_clock;
  using Answerer = std::function<HttpReply(const HttpRequest&)>;

  static constexpr unsigned kMostCallers = 32;  // more wait until one has gone
  static constexpr std::size_t kMostHead = 16384;
  static constexpr auto kLongestStay = std::chrono::seconds(10);

  // Takes over the socket, which listens and doesn't block. Throws std::runtime_error.
  HttpServer(int listening, Answerer answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers who calls, for so long at most; a signal ends it before that.
  void run(std::chrono::milliseconds longest);

 private:
  struct Caller {
    int fd;
    Clock::time_point since;
  };
  struct Calls;  // what the library calls

  void put_out_who_stays();

  Answerer answer_;
  std::map<MHD_Connection*, Caller> callers_;
  MHD_Daemon* daemon_;
};

}  // namespace nnd::cli
