// Who can forge ICMP: "port unreachable" is taken only from the host that was asked.
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "peers/socket.h"
#include "support/catch.h"
#include "support/skip.h"

namespace peers = nnd::peers;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr nnd::context::Gid ipv4(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, last};
}
in_addr_t host(std::uint8_t last) { return htonl(0x7f000000u | last); }

std::uint16_t checksum(const void* data, std::size_t size) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + i, 2);
    sum += word;
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// A raw socket that says so of what `victim` has sent to 127.0.0.1:port.
class Forger {
 public:
  Forger() : fd_(::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)) {}
  ~Forger() {
    if (fd_ >= 0) ::close(fd_);
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  bool can() const { return fd_ >= 0; }
  void says(int code, const peers::Address& victim, std::uint16_t port, std::uint8_t from) const {
    struct {
      icmphdr icmp;
      iphdr ip;
      udphdr udp;
    } packet{};
    packet.icmp.type = ICMP_DEST_UNREACH;
    packet.icmp.code = static_cast<std::uint8_t>(code);
    packet.ip.version = 4;
    packet.ip.ihl = 5;
    packet.ip.ttl = 64;
    packet.ip.protocol = IPPROTO_UDP;
    packet.ip.tot_len = htons(sizeof packet.ip + sizeof packet.udp);
    packet.ip.saddr = host(victim.ip[15]);
    packet.ip.daddr = host(1);
    packet.udp.source = htons(victim.port);
    packet.udp.dest = htons(port);
    packet.udp.len = htons(sizeof packet.udp);
    packet.icmp.checksum = checksum(&packet, sizeof packet);
    sockaddr_in source{}, target{};
    source.sin_family = target.sin_family = AF_INET;
    source.sin_addr.s_addr = host(from);
    target.sin_addr.s_addr = host(victim.ip[15]);
    const int fd = ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    ::bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof source);
    ::sendto(fd, &packet, sizeof packet, 0, reinterpret_cast<const sockaddr*>(&target),
             sizeof target);
    ::close(fd);
  }

 private:
  int fd_;
};

}  // namespace

TEST_CASE("only the host that was asked says that nobody has the port") {
  const Forger forger;
  if (!forger.can()) NND_SKIP("no raw socket can be made here");
  peers::Socket victim;
  REQUIRE(victim.open(ipv4(2)) == 0);
  forger.says(ICMP_PORT_UNREACH, victim.address(), 9, 3);  // a firewall, or anybody
  victim.wait(100'000'000);
  CHECK_FALSE(victim.refused());
  // Who forges its address too can: engine.cc asks the process again before it believes it.
  forger.says(ICMP_PORT_UNREACH, victim.address(), 9, 1);
  victim.wait(1'000'000'000);
  CHECK(victim.refused() == peers::Address{ipv4(1), 9});
}

TEST_CASE("errors that somebody sends keep nothing else from being read") {
  const Forger forger;
  if (!forger.can()) NND_SKIP("no raw socket can be made here");
  peers::Socket victim, peer;
  REQUIRE(victim.open(ipv4(2)) == 0);
  REQUIRE(peer.open(ipv4(1)) == 0);
  for (const int code : {ICMP_HOST_UNREACH, ICMP_PORT_UNREACH, ICMP_PKT_FILTERED})
    for (int i = 0; i < 3; ++i) {
      peer.send(victim.address(), Bytes{1, 2, 3});
      victim.wait(1'000'000'000);
      for (int n = 0; n < 20; ++n) forger.says(code, victim.address(), 9, 1);
      CHECK(victim.receive(10));
      victim.send(peer.address(), Bytes{4});
      peer.wait(1'000'000'000);
      while (victim.refused()) {
      }
    }
}
