#include "driver/connect.h"

#include <array>

#include "driver/error.h"

namespace nnd::driver {

namespace {

constexpr int kDefaultDeadlineMs = 20000;

class OpenTask : public Task {
 public:
  OpenTask(Session& session, const nlohmann::json& request, bool send)
      : Task(request.value("deadline_ms", kDefaultDeadlineMs)),
        session_(session),
        context_(session.context(request.value("context", 0))),
        send_(send) {}

  std::optional<nlohmann::json> step() final {
    if (session_.net().has_set_net_attr()) session_.net().set_net_attr(context_);
    void* comm = nullptr;
    const int rc = poll(&comm);
    const auto ns = std::chrono::nanoseconds(Clock::now() - start_).count();
    const char* stage = send_ ? "connect" : "accept";
    if (rc != 0) {
      session_.trace().add(object(), stage, rc, nullptr, polls_);
      return nlohmann::json{{"rc", rc}, {"stage", stage}, {"polls", polls_}, {"ns", ns}};
    }
    if (comm != nullptr) {
      const int id = session_.add_connection({comm, send_, ""});
      session_.trace().add(object(), stage, rc, {{"connection", id}}, polls_);
      return nlohmann::json{{"rc", rc}, {"conn", id}, {"polls", polls_}, {"ns", ns}};
    }
    ++polls_;
    if (!late()) return std::nullopt;
    session_.trace().add(object(), stage, rc, "still waiting at the deadline", polls_);
    return nlohmann::json{
        {"rc", rc}, {"timeout", true}, {"stage", stage}, {"polls", polls_}, {"ns", ns}};
  }

 protected:
  virtual int poll(void** comm) = 0;
  virtual std::string object() const = 0;

  Session& session_;
  void* context_;

 private:
  bool send_;
  std::uint64_t polls_ = 0;
};

class ConnectTask final : public OpenTask {
 public:
  ConnectTask(Session& session, const nlohmann::json& request)
      : OpenTask(session, request, true), dev_(request.at("dev")) {
    from_hex(request.at("handle"), handle_.data(), handle_.size());
  }

 private:
  int poll(void** comm) override {
    return session_.net().connect(context_, dev_, handle_.data(), comm);
  }
  std::string object() const override { return "device " + std::to_string(dev_); }

  int dev_;
  alignas(std::max_align_t) std::array<std::byte, nccl_abi::kHandleSize> handle_;
};

class AcceptTask final : public OpenTask {
 public:
  AcceptTask(Session& session, const nlohmann::json& request, Listener listener)
      : OpenTask(session, request, false), listener_(std::move(listener)) {}

 private:
  int poll(void** comm) override { return session_.net().accept(listener_.comm, comm); }
  std::string object() const override { return listener_.object; }

  Listener listener_;
};

}  // namespace

std::unique_ptr<Task> begin_connect(Session& session, const nlohmann::json& request) {
  return std::make_unique<ConnectTask>(session, request);
}

std::unique_ptr<Task> begin_accept(Session& session, const nlohmann::json& request,
                                   const Listener& listener) {
  return std::make_unique<AcceptTask>(session, request, listener);
}

std::string to_hex(const void* data, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    const auto value = static_cast<const unsigned char*>(data)[i];
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

void from_hex(const std::string& text, void* data, std::size_t size) {
  if (text.size() != 2 * size || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw Error("not " + std::to_string(size) + " bytes in hex");
  for (std::size_t i = 0; i < size; ++i)
    static_cast<unsigned char*>(data)[i] =
        static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
}

}  // namespace nnd::driver
