#include "cli/ping/agent.h"

#include <optional>

#include "cli/common/reach.h"
#include "cli/ping/describe.h"
#include "cli/ping/endpoint.h"

namespace nnd::cli {

using nlohmann::json;
using wire::Clock;

namespace {

constexpr int kAgentTickMs = 50;
constexpr const char* kInterrupted = "interrupted";

class Agent {
 public:
  Agent(wire::JsonSocket& socket, const RankSetup& setup, const std::function<bool()>& stop)
      : socket_(socket), setup_(setup), stop_(stop) {}

  PingServed run() {
    while (!over_) {
      if (stop_()) {
        leave(kInterrupted);
        break;
      }
      if (const auto message = socket_.receive())
        answer(*message);
      else if (socket_.closed())
        end(socket_.why());
      else
        wait();
    }
    return served_;
  }

 private:
  void end(const std::string& why) {
    over_ = true;
    served_.why = why;
  }

  void leave(const std::string& why) {
    socket_.send({{"left", why}});
    end(why);
  }

  void wait() { socket_.wait(Clock::now() + std::chrono::milliseconds(kAgentTickMs)); }

  // Ctrl-C ends the ranks too: what they then did not do says nothing.
  void reply(int attempt, json value) {
    if (stop_()) return;
    socket_.send({{"attempt", attempt}, {"reply", std::move(value)}});
  }

  std::optional<PingRequest> read(const json& message) {
    try {
      return parse_ping_request(message);
    } catch (const BadMessage& bad) {
      leave(std::string("a request is wrong: ") + bad.what());
    }
    return std::nullopt;
  }

  // While an attempt is under way only its end is a request.
  std::string tick() {
    if (stop_()) return kInterrupted;
    const auto message = socket_.receive();
    if (!message && socket_.closed()) return "the other side: " + socket_.why();
    if (!message) return "";
    const auto request = read(*message);
    if (!request) return served_.why;
    if (request->what == PingRequest::What::kCancel)
      return request->attempt == attempt_ ? "cancelled" : "";
    if (request->what == PingRequest::What::kEnd)
      finish(*request);
    else
      leave("a request came before the last one's answer");
    return served_.why;
  }

  void finish(const PingRequest& request) {
    served_.finished = request.why == "finished";
    end(request.why);
  }

  void answer(const json& message) {
    using What = PingRequest::What;
    if (setup_.rehearse && message.value("do", json()) == "rehearse")
      return setup_.rehearse(socket_, message, stop_);
    const auto request = read(message);
    if (!request) return;
    const auto tick = [this] { return this->tick(); };
    if (request->what == What::kEnd) {
      finish(*request);
    } else if (request->what == What::kDescribe) {
      reply(0, describe_ping_host(setup_, tick));
    } else if (request->what == What::kListen) {
      reply(0, {{"port", listener_.listen_at(request->address)}});
    } else if (request->what == What::kReach) {
      reply(0, {{"errors", reach(request->places)}});
    } else if (request->what == What::kPrepare) {
      attempt_ = request->attempt;
      ++served_.attempts;
      endpoint_.emplace(setup_, attempt_, tick);
      const auto prepared = endpoint_->prepare(request->hca, request->dev);
      if (!prepared.handle.empty()) return reply(attempt_, {{"handle", prepared.handle}});
      endpoint_.reset();
      reply(attempt_, to_json(prepared.report));
    } else if (endpoint_ && request->attempt == attempt_) {
      reply(attempt_,
            to_json(request->what == What::kGo ? endpoint_->go(*request) : endpoint_->cancel()));
      endpoint_.reset();
    }
    // A cancel that crossed its attempt's report is too late.
  }

  wire::JsonSocket& socket_;
  const RankSetup& setup_;
  const std::function<bool()>& stop_;
  std::optional<PingEndpoint> endpoint_;
  MeetingListener listener_;
  int attempt_ = 0;
  bool over_ = false;
  PingServed served_;
};

}  // namespace

PingServed serve_ping(wire::JsonSocket& socket, const RankSetup& setup,
                      const std::function<bool()>& stop) {
  return Agent(socket, setup, stop).run();
}

}  // namespace nnd::cli
