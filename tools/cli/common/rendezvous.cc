#include "cli/common/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"

namespace nnd::cli {

using nlohmann::json;

namespace {

constexpr const char* kGreeting = "nccl-net-diag rehearse 1";
constexpr int kTickMs = 100;

Addresses addresses_of(const TcpAddress& root) {
  std::string why;
  Addresses out = find_addresses(root, 0, why);
  if (!out)
    throw CallError(kWrongCall, "root", fmt::format("{}: {}", root.text(), why), root.text());
  return out;
}

}  // namespace

TcpAddress parse_root(const std::string& text) {
  if (auto root = parse_tcp_address(text, "")) return *root;
  throw CallError(kWrongCall, "root", fmt::format("\"{}\" is no HOST:PORT", text), text);
}

MeetingPlace::MeetingPlace(const TcpAddress& root, int tasks, json welcome)
    : tasks_(tasks), welcome_(std::move(welcome)) {
  std::string why;
  fd_ = listen_on(addresses_of(root), why);
  if (fd_ < 0)
    throw CallError(kNotExamined, "root",
                    fmt::format("task 0 cannot listen on {}: {}", root.text(), why), root.text());
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

Visit::Visit(const TcpAddress& root, int task, Clock::time_point deadline,
             const std::function<bool()>& stop) {
  std::string why = "nobody said welcome";
  const Addresses addresses = addresses_of(root);
  while (!welcome_.is_object()) {
    if (stop()) throw CallError(kNotExamined, "interrupted", "interrupted");
    if (Clock::now() >= deadline)
      throw CallError(kNotExamined, "root",
                      fmt::format("task 0 was not reached at {}: {}", root.text(), why),
                      root.text());
    if (socket_ && !socket_->closed()) {
      if (const auto said = socket_->receive()) welcome_ = said->value("welcome", json());
      poll(nullptr, 0, kTickMs);
      continue;
    }
    socket_.reset();
    for (const addrinfo* one = addresses.get(); one != nullptr && !socket_; one = one->ai_next) {
      const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
