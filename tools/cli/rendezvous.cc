#include "cli/rendezvous.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/call_error.h"
#include "cli/exit_code.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr const char* kGreeting = "nccl-net-diag rehearse 1";
constexpr int kTickMs = 100;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const RootAddress& root) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(root.host.c_str(), root.port.c_str(), &hints, &list))
    throw CallError(kWrongCall, "root",
                    fmt::format("{}:{}: {}", root.host, root.port, gai_strerror(error)),
                    root.host + ":" + root.port);
  return Addresses(list);
}

int open_socket(const addrinfo& address) {
  return socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

RootAddress parse_root(const std::string& text) {
  const auto colon = text.rfind(':');
  RootAddress root;
  if (colon != std::string::npos) root = {text.substr(0, colon), text.substr(colon + 1)};
  if (root.host.size() > 2 && root.host.front() == '[' && root.host.back() == ']')
    root.host = root.host.substr(1, root.host.size() - 2);
  const bool number =
      !root.port.empty() && root.port.find_first_not_of("0123456789") == std::string::npos;
  if (root.host.empty() || !number || root.port.size() > 5 || std::stoi(root.port) > 65535)
    throw CallError(kWrongCall, "root", fmt::format("\"{}\" is no HOST:PORT", text), text);
  return root;
}

MeetingPlace::MeetingPlace(const RootAddress& root, int tasks, json welcome)
    : tasks_(tasks), welcome_(std::move(welcome)) {
  std::string why;
  const Addresses addresses = resolve(root);
  for (const addrinfo* one = addresses.get(); one != nullptr && fd_ < 0; one = one->ai_next) {
    const int fd = open_socket(*one), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && bind(fd, one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) {
      fd_ = fd;
    } else {
      why = std::strerror(errno);
      if (fd >= 0) close(fd);
    }
  }
  if (fd_ < 0)
    throw CallError(kNotExamined, "root",
                    fmt::format("task 0 cannot listen on {}:{}: {}", root.host, root.port, why),
                    root.host + ":" + root.port);
}

MeetingPlace::~MeetingPlace() { close(fd_); }

void MeetingPlace::admit(JsonSocket& socket, const json& hello) {
  const int task = hello.value("task", 0);
  if (hello.value("hello", "") != kGreeting || task <= 0 || task >= tasks_ ||
      guests_.contains(task))
    return;
  socket.send({{"welcome", welcome_}});
  if (id_) socket.send({{"id", *id_}});
  guests_.emplace(task, std::move(socket));
}

void MeetingPlace::attend() {
  pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
  while (poll(&ready, 1, 0) > 0) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) break;
    strangers_.emplace_back(fd);
  }
  std::vector<JsonSocket> waiting;
  for (auto& socket : strangers_) {
    if (const auto hello = socket.receive())
      admit(socket, *hello);
    else if (!socket.closed())
      waiting.push_back(std::move(socket));
  }
  strangers_.swap(waiting);
  for (auto& [task, socket] : guests_)
    if (const auto said = socket.receive(); said && said->contains("report"))
      reports_[task] = said->at("report");
}

void MeetingPlace::hand_out_id(const std::string& id) {
  id_ = id;
  for (auto& [task, socket] : guests_) socket.send({{"id", id}});
}

void MeetingPlace::call_off() {
  for (auto& [task, socket] : guests_) socket.send({{"end", true}});
}

std::vector<int> MeetingPlace::lost() const {
  std::vector<int> out;
  for (const auto& [task, socket] : guests_)
    if (socket.closed() && !reports_.contains(task)) out.push_back(task);
  return out;
}

Visit::Visit(const RootAddress& root, int task, Clock::time_point deadline,
             const std::function<bool()>& stop) {
  std::string why = "nobody said welcome";
  const Addresses addresses = resolve(root);
  while (!welcome_.is_object()) {
    if (stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= deadline)
      throw CallError(kNotExamined, "root",
                      fmt::format("task 0 was not reached at {}:{}: {}", root.host, root.port, why),
                      root.host + ":" + root.port);
    if (socket_ && !socket_->closed()) {
      if (const auto said = socket_->receive()) welcome_ = said->value("welcome", json());
      poll(nullptr, 0, kTickMs);
      continue;
    }
    socket_.reset();
    for (const addrinfo* one = addresses.get(); one != nullptr && !socket_; one = one->ai_next) {
      const int fd = open_socket(*one);
      if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) == 0) {
        socket_.emplace(fd);
        socket_->send({{"hello", kGreeting}, {"task", task}});
      } else {
        why = std::strerror(errno);
        if (fd >= 0) close(fd);
      }
    }
    poll(nullptr, 0, kTickMs);
  }
}

void Visit::listen() {
  while (const auto said = socket_->receive()) {
    if (said->contains("id")) id_ = said->at("id").get<std::string>();
    if (said->contains("end")) called_off_ = true;
  }
}

std::optional<std::string> Visit::id() {
  listen();
  return id_;
}

bool Visit::over() {
  listen();
  return called_off_ || socket_->closed();
}

void Visit::report(const json& value) { socket_->send({{"report", value}}); }

}  // namespace nnd::cli
