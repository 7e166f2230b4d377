#include "cli/exporter/http_server.h"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace nnd::cli {

namespace {

using Body = std::shared_ptr<const std::string>;

struct ResponseDeleter {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using Response = std::unique_ptr<MHD_Response, ResponseDeleter>;

void forget(void* body) { delete static_cast<Body*>(body); }

// Without a copy: a page is large, and may be on its way to many.
Response response_of(const Body& body) {
  auto held = std::make_unique<Body>(body);
  Response out(MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), const_cast<char*>(body->data()), forget, held.get()));
  if (out) held.release();
  return out;
}

}  // namespace

struct HttpServer::Calls {
  static void note(void* self, MHD_Connection* connection, void** /*context*/,
                   MHD_ConnectionNotificationCode what) {
    auto& callers = static_cast<HttpServer*>(self)->callers_;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      callers.erase(connection);
    } else {
      const auto* const info =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      callers[connection] = {info->connect_fd, Clock::now()};
    }
  }

  // Called before a body is read, if there is one; it never is.
  static MHD_Result answer(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char* /*version*/, const char* /*body*/,
                           std::size_t* /*size*/, void** /*context*/) {
    const char* const accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const HttpReply reply =
        static_cast<HttpServer*>(self)->answer_({method, url, accept != nullptr ? accept : ""});
    const Response response = response_of(reply.body);
    if (!response) return MHD_NO;
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, reply.type.c_str());
    MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONNECTION, "close");
    if (!reply.allow.empty())
      MHD_add_response_header(response.get(), MHD_HTTP_HEADER_ALLOW, reply.allow.c_str());
    return MHD_queue_response(connection, reply.status, response.get());
  }
};

HttpServer::HttpServer(int listening, Answerer answer) : answer_(std::move(answer)) {
  constexpr auto kSilence = static_cast<unsigned>(kLongestStay.count());
  daemon_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, Calls::answer, this,
                             MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT,
                             kMostCallers, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostHead,
                             MHD_OPTION_CONNECTION_TIMEOUT, kSilence, MHD_OPTION_NOTIFY_CONNECTION,
                             Calls::note, this, MHD_OPTION_END);
  if (daemon_ != nullptr) return;
  ::close(listening);
  throw std::runtime_error("libmicrohttpd could not start");
}

HttpServer::~HttpServer() { MHD_stop_daemon(daemon_); }

void HttpServer::run(std::chrono::milliseconds longest) {
  MHD_run_wait(daemon_, static_cast<std::int32_t>(longest.count()));
  put_out_who_stays();
}

// The library counts silence alone: who sends a byte now and then would stay for ever.
void HttpServer::put_out_who_stays() {
  const auto now = Clock::now();
  for (const auto& [connection, caller] : callers_)
    if (now - caller.since >= kLongestStay) ::shutdown(caller.fd, SHUT_RDWR);
}

}  // namespace nnd::cli
