// The bootstrap's socket calls as a module makes them through its import slots: what is left of
// them in state, and what is told at once.
#include "oob/calls.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "oob/events.h"
#include "oob/evidence.h"
#include "state/bootstrap.h"
#include "state/current.h"
#include "support/catch.h"
#include "support/own_network.h"
#include "support/recorded.h"
#include "support/skip.h"

using namespace nnd;
using nlohmann::json;
using state::Boot;
using state::BootCall;

namespace {

// What stands for NCCL.
struct Image {
  Image() : handle(::dlopen(NND_OOB_SOCKETS, RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(handle != nullptr);
    bind(socket, "use_socket");
    bind(listen, "use_listen");
    bind(connect, "use_connect");
    bind(getsockopt, "use_getsockopt");
    bind(accept, "use_accept");
    bind(recv, "use_recv");
    oob::install(reinterpret_cast<const void*>(socket));
  }
  template <class F>
  void bind(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(handle, name));
    REQUIRE(function != nullptr);
  }

  void* handle;
  int (*socket)(int, int);
  int (*listen)(int);
  int (*connect)(int, const sockaddr*, socklen_t);
  int (*getsockopt)(int, int*);
  int (*accept)(int);
  ssize_t (*recv)(int, void*, std::size_t);
};

Image& image() {
  static Image instance;
  return instance;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(port);
  return out;
}

std::uint16_t port_of(int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  return ntohs(at.sin_port);
}

// Bound to a port of its own; not yet listening.
int bound_socket() {
  const int fd = image().socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
  const sockaddr_in any = loopback(0);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  return fd;
}

int connect_to(std::uint16_t port, int type = SOCK_STREAM) {
  const int fd = image().socket(AF_INET, type);
  const sockaddr_in to = loopback(port);
  image().connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return fd;
}

// In a thread of its own, which makes no communicator yet.
template <class F>
void in_thread(F&& f) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      f();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

const Boot& boot() {
  REQUIRE(state::own_boot() != nullptr);
  return state::own_boot()->boot;
}

std::vector<json> of(const std::vector<json>& log, const std::string& name) {
  std::vector<json> out;
  for (const json& event : log)
    if (event.at("ev") == name) out.push_back(event);
  return out;
}

}  // namespace

TEST_CASE("A rank's bootstrap, step by step") {
  in_thread([] {
    image();
    state::begin_bootstrap(0x1f);
    const int listener = bound_socket();
    CHECK(image().listen(listener) == 0);
    CHECK(boot().comm == 0x1f);
    CHECK(boot().listens == 1);
    CHECK(boot().listeners[0].port == port_of(listener));
    const int sender = connect_to(port_of(listener));
    CHECK(boot().connects == 1);
    CHECK(boot().root.port == port_of(listener));
    CHECK(boot().from.port == port_of(sender));
    CHECK(boot().call == BootCall::kNone);
    const int receiver = image().accept(listener);
    CHECK(receiver >= 0);
    CHECK(boot().accepts == 1);
    char byte = 0;
    CHECK(image().recv(receiver, &byte, 1) == -1);
    CHECK(errno == EAGAIN);
    CHECK(boot().call == BootCall::kReceive);
    CHECK(boot().target.port == port_of(sender));
    Boot over;
    CHECK_FALSE(state::end_bootstrap(over));  // nothing has come yet
    CHECK(::send(sender, "x", 1, 0) == 1);
    while (image().recv(receiver, &byte, 1) != 1) {
    }
    CHECK(boot().call == BootCall::kNone);
    CHECK(state::end_bootstrap(over));
    CHECK(over.comm == 0x1f);
    CHECK(boot().began_ns == 0);
    CHECK_FALSE(state::end_bootstrap(over));
    // The next communicator of this thread begins with its first listener.
    const int next = bound_socket();
    CHECK(image().listen(next) == 0);
    CHECK(boot().began_ns != 0);
    CHECK_FALSE(boot().first);
  });
}

TEST_CASE("Nobody has come: the wait has a beginning, and goes on") {
  in_thread([] {
    const int listener = bound_socket();
    image().listen(listener);
    CHECK(image().accept(listener) == -1);
    CHECK(errno == EAGAIN);
    const std::uint64_t since = boot().since_ns;
    CHECK(boot().call == BootCall::kAccept);
    CHECK(boot().own.port == port_of(listener));
    CHECK(image().accept(listener) == -1);
    CHECK(boot().since_ns == since);
  });
}

TEST_CASE("A connect that is refused is tried again, and counted") {
  in_thread([] {
    const int taken = bound_socket();  // nobody listens there
    state::begin_bootstrap(0);
    for (const unsigned attempt : {1u, 2u}) {
      const int fd = connect_to(port_of(taken), SOCK_STREAM);
      CHECK(errno == ECONNREFUSED);
      CHECK(boot().call == BootCall::kConnect);
      CHECK(boot().attempts == attempt);
      CHECK(boot().error == ECONNREFUSED);
      ::close(fd);
    }
  });
}

TEST_CASE("How an attempt ended that NCCL did not wait for is asked of the socket") {
  in_thread([] {
    const int listener = bound_socket();
    image().listen(listener);
    const int fd = connect_to(port_of(listener), SOCK_STREAM | SOCK_NONBLOCK);
    int error = -1;
    do {
      CHECK(image().getsockopt(fd, &error) == 0);
    } while (error == EINPROGRESS);
    CHECK(error == 0);
    CHECK(boot().connects == 1);
  });
}

TEST_CASE("The root's thread is known by its sockets, which block") {
  in_thread([] {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in any = loopback(0);
    ::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any);
    ::listen(listener, 4);  // before we came
    const int guest = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in at = loopback(port_of(listener));
    CHECK(::connect(guest, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    CHECK(state::own_boot() == nullptr);
    CHECK(image().accept(listener) >= 0);
    CHECK(boot().role == state::BootRole::kRoot);
    CHECK(boot().accepts == 1);
    CHECK(boot().guests[0][15] == 1);
  });
}

TEST_CASE("A rank's listener that blocks is no root's once its bootstrap is over") {
  in_thread([] {
    state::begin_bootstrap(0x1f);
    const int root = bound_socket();
    ::listen(root, 1);
    const int sender = connect_to(port_of(root));
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in any = loopback(0);
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
    CHECK(image().listen(listener) == 0);
    const state::SocketAddress at = boot().listeners[0];
    CHECK_FALSE(state::is_of_a_rank(at));  // a root is asked for meanwhile
    REQUIRE(::send(::accept(root, nullptr, nullptr), "x", 1, 0) == 1);
    char byte = 0;
    CHECK(image().recv(sender, &byte, 1) == 1);
    Boot over;
    CHECK(state::end_bootstrap(over));
    CHECK(state::is_of_a_rank(at));
    CHECK_FALSE(state::is_of_a_rank(boot().root));
    connect_to(port_of(listener), SOCK_STREAM | SOCK_NONBLOCK);
    in_thread([&] {
      CHECK(image().accept(listener) >= 0);
      CHECK(state::own_boot() == nullptr);  // it waited for this one only
    });
  });
}

TEST_CASE("A thread that makes no communicator is left alone") {
  in_thread([] {
    const int taken = bound_socket();
    connect_to(port_of(taken), SOCK_STREAM | SOCK_NONBLOCK);
    char byte = 0;
    image().recv(taken, &byte, 1);
    CHECK(state::own_boot() == nullptr);
  });
}

TEST_CASE(
    "A thread that makes no communicator and waits to be connected to is seen while it waits") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const sockaddr_in any = loopback(0);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  in_thread([&] {
    CHECK(image().accept(listener) == -1);
    CHECK(errno == EAGAIN);
    const std::uint64_t since = boot().since_ns;
    CHECK(boot().call == BootCall::kAccept);
    CHECK(boot().own.port == port_of(listener));
    CHECK(boot().began_ns == 0);
    CHECK(image().accept(listener) == -1);
    CHECK(boot().since_ns == since);
    const state::BootThread* const entry = state::own_boot()->entry;
    connect_to(port_of(listener));
    while (image().accept(listener) < 0) {
    }
    CHECK(state::own_boot() == nullptr);
    CHECK(entry->owner.load() == 0);
  });
  ::close(listener);
}

TEST_CASE("Inside the net API it is the connection's failure") {
  in_thread([] {
    const int taken = bound_socket();
    state::begin_bootstrap(0);
    const state::Scope scope(state::Call::kConnect, {});
    connect_to(port_of(taken));
    CHECK(std::string(state::current().failed_verb) == "connect");
    CHECK(state::current().failed_errno == ECONNREFUSED);
    CHECK(boot().call == BootCall::kNone);
  });
}

TEST_CASE("What NCCL does not try again is told at once") {
  const std::vector<json> log = test::recorded([] {
    image();
    state::forget_bootstraps();  // of the cases before
    state::begin_bootstrap(0x1f);
    const int fd = image().socket(AF_INET, SOCK_STREAM);
    sockaddr_in nowhere = loopback(4711);
    nowhere.sin_addr.s_addr = htonl(INADDR_BROADCAST);  // EACCES, or ENETUNREACH
    image().connect(fd, reinterpret_cast<const sockaddr*>(&nowhere), sizeof nowhere);
  });
  const auto told = of(log, "init.fail");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("cause") == "OOB-BLOCKED");
  CHECK(told[0].at("sev") == "error");
  CHECK(told[0].at("comm") == "0x1f");
  CHECK(told[0].at("step") == "root");
  CHECK(told[0].at("target").at("address") == "255.255.255.255:4711");
  CHECK(told[0].at("target").at("state") == "unreachable");
}

TEST_CASE("A peer that takes a connection and cuts it off refuses it") {
  const std::vector<json> log = test::recorded([] {
    image();
    state::forget_bootstraps();
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);  // the peer's
    const sockaddr_in any = loopback(0);
    ::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any);
    ::listen(listener, 1);
    state::begin_bootstrap(0x1f);
    const int fd = connect_to(port_of(listener), SOCK_STREAM | SOCK_NONBLOCK);
    const int taken = ::accept(listener, nullptr, nullptr);
    const linger at_once{1, 0};
    ::setsockopt(taken, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(taken);
    int error = 0;
    image().getsockopt(fd, &error);
    return error == ECONNRESET;
  });
  const auto told = of(log, "init.fail");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("cause") == "OOB-BLOCKED");
  CHECK(told[0].at("errno") == ECONNRESET);
  CHECK(told[0].at("target").at("state") == "refused");
  CHECK(told[0].at("msg").get<std::string>().find("errno 104 (Connection reset by peer)") !=
        std::string::npos);
}

namespace {

// What `f` tells, which says whether it saw what it should, on a host that has 10.77.0.1 and a
// cable on which nobody answers.
template <class F>
std::vector<json> on_a_lonely_host(const test::TwoHosts& hosts, const F& f) {
  REQUIRE(hosts.on(0, "ip addr add 10.77.0.1/24 dev eth0"));
  REQUIRE(hosts.on(0, "ip route add unreachable 10.78.0.0/16"));
  REQUIRE(hosts.on(0, "ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:99 dev eth0"));
  return test::recorded([&] {
    image();
    state::forget_bootstraps();
    test::TwoHosts::enter(hosts.file(0));
    state::begin_bootstrap(0x1f);
    return f();
  });
}

sockaddr_in address_of_peer(std::uint32_t ip) {
  sockaddr_in out = loopback(4711);
  out.sin_addr.s_addr = htonl(ip);
  return out;
}

constexpr std::uint32_t kNoRoute = 0x0a4e0001, kSilent = 0x0a4d0002;  // 10.78.0.1, 10.77.0.2

}  // namespace

TEST_CASE("No route: told at once where NCCL gives up, and noted where it tries again") {
  const bool again = GENERATE(false, true);
  const test::TwoHosts hosts;
  if (!hosts.there()) NND_SKIP("no network namespaces or no ip here: they need root and iproute2");
  const auto told =
      of(on_a_lonely_host(hosts,
                          [&] {
                            oob::set_nccl_version(again ? 22809 : 22105);
                            const int fd = image().socket(AF_INET, SOCK_STREAM);
                            const sockaddr_in nowhere = address_of_peer(kNoRoute);
                            image().connect(fd, reinterpret_cast<const sockaddr*>(&nowhere),
                                            sizeof nowhere);
                            if (again) oob::tell_init_stall(boot(), 10'000'000'000);
                            return boot().error == EHOSTUNREACH;
                          }),
         again ? "init.stall" : "init.fail");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("sev") == (again ? "warn" : "error"));
  CHECK(told[0].at("cause") == "OOB-BLOCKED");
  CHECK(told[0].at("target").at("address") == "10.78.0.1:4711");
  CHECK(told[0].at("target").at("state") == "unreachable");
  CHECK(told[0].at("target").at("errno") == EHOSTUNREACH);
}

TEST_CASE("An attempt that timed out got no answer") {
  const test::TwoHosts hosts;
  if (!hosts.there()) NND_SKIP("no network namespaces or no ip here: they need root and iproute2");
  const auto told =
      of(on_a_lonely_host(hosts,
                          [] {
                            const int fd = image().socket(AF_INET, SOCK_STREAM);
                            const int ms = 100;
                            ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
                            const sockaddr_in nobody = address_of_peer(kSilent);
                            image().connect(fd, reinterpret_cast<const sockaddr*>(&nobody),
                                            sizeof nobody);
                            oob::tell_init_stall(boot(), 10'000'000'000);
                            return boot().error == ETIMEDOUT;
                          }),
         "init.stall");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("cause") == "OOB-BLOCKED");
  CHECK(told[0].at("target").at("state") == "silent");
  CHECK(told[0].at("target").at("errno") == ETIMEDOUT);
  CHECK_FALSE(told[0].at("target").contains("source"));  // it is no one's any more
}

TEST_CASE("Too few files may be open: named where the socket fails") {
  const std::vector<json> log = test::recorded([] {
    image();
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &files);
    const bool failed = image().socket(AF_INET, SOCK_STREAM) == -1 && errno == EMFILE;
    {
      const state::Scope scope(state::Call::kConnect, {});
      image().socket(AF_INET, SOCK_STREAM);  // the net layer tells of that one
    }
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    return failed;
  });
  const auto told = of(log, "init.fail");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("cause") == "LIM-NOFILE");
  CHECK(told[0].at("step") == "socket");
  CHECK(told[0].at("errno") == EMFILE);
}

TEST_CASE("A connection that another process has closed is told once, and whose guests go is not") {
  const int other = ::socket(AF_INET, SOCK_STREAM, 0);  // where another process listens
  const sockaddr_in any = loopback(0);
  REQUIRE(::bind(other, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::listen(other, 1) == 0);
  const std::vector<json> log = test::recorded([&] {
    state::forget_bootstraps();
    char byte = 0;
    const int own = bound_socket();
    image().listen(own);
    const int guest = ::socket(AF_INET, SOCK_STREAM, 0);  // of another process
    const sockaddr_in here = loopback(port_of(own));
    REQUIRE(::connect(guest, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    const int accepted = image().accept(own);
    ::close(guest);
    in_thread([&] {
      while (image().recv(accepted, &byte, 1) < 0) {
      }
    });
    for (int i = 0; i < 2; ++i)
      in_thread([&] {
        const int to = connect_to(port_of(other));
        ::close(::accept(other, nullptr, nullptr));
        while (image().recv(to, &byte, 1) < 0) {
        }
        ::close(to);
      });
    ::close(accepted);
    ::close(own);
  });
  const auto told = of(log, "oob.closed");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("target").at("address") == "127.0.0.1:" + std::to_string(port_of(other)));
  CHECK(told[0].at("cause") == "OOB-CLOSED");
  CHECK(told[0].at("sev") == "info");
  ::close(other);
}

TEST_CASE("A listener of another process that is closed by then is told as well") {
  const int other = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in any = loopback(0);
  REQUIRE(::bind(other, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  const std::vector<json> log = test::recorded([&] {
    state::forget_bootstraps();
    in_thread([&] {
      const int to = connect_to(port_of(other), SOCK_STREAM | SOCK_NONBLOCK);
      int error = 0;
      image().getsockopt(to, &error);
      ::close(to);
    });
  });
  const auto told = of(log, "oob.closed");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("target").at("address") == "127.0.0.1:" + std::to_string(port_of(other)));
  CHECK(told[0].at("target").at("errno") == ECONNREFUSED);
  ::close(other);
}

TEST_CASE("A bootstrap that is over says where the process listens") {
  const std::vector<json> log = test::recorded([] {
    const int listener = bound_socket();
    image().listen(listener);
    image().listen(bound_socket());
    oob::tell_init_done(boot());
  });
  const auto told = of(log, "init.ready");
  REQUIRE(told.size() == 1);
  CHECK(told[0].at("bootstrap").at("address").get<std::string>().starts_with("127.0.0.1:"));
  CHECK(told[0].at("bootstrap").at("netdev") == "lo");
  CHECK(told[0].at("listens").size() == 2);
  CHECK(told[0].at("listens")[0] == told[0].at("bootstrap").at("address"));
  CHECK(told[0].at("dur_us") >= 0);
}
