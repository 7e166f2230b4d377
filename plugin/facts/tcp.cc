#include "facts/tcp.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace nnd::facts {

namespace {

// include/net/tcp_states.h
constexpr unsigned kEstablished = 1;
constexpr unsigned kSynSent = 2;
constexpr unsigned kCloseWait = 8;
constexpr unsigned kListen = 10;

std::optional<unsigned> hex(std::string_view text) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// "0100007F:1F90": words of the address as this machine has them in memory, then the port.
bool parse_end(std::string_view text, TcpEnd& end) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return false;
  const auto port = hex(text.substr(colon + 1));
  if (!port) return false;
  end.port = static_cast<std::uint16_t>(*port);
  end.address = {};
  const std::size_t first = colon == 8 ? 12 : 0;
  if (first != 0) end.address[10] = end.address[11] = 0xff;
  for (std::size_t i = 0; i < colon; i += 8) {
    const auto word = hex(text.substr(i, 8));
    if (!word) return false;
    std::memcpy(&end.address[first + i / 2], &*word, 4);
  }
  return true;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<TcpState> TcpTable::Row::made() const {
  if (state == kEstablished) return TcpState::kMade;
  return state == kCloseWait ? std::optional(TcpState::kHungUp) : std::nullopt;
}

// "  0: 0100007F:1F90 00000000:0000 0A ..."; false: the heading, or nothing of this kind.
bool TcpTable::parse(std::string_view line, Row& row) {
  next_word(line);
  if (!parse_end(next_word(line), row.local) || !parse_end(next_word(line), row.remote))
    return false;
  const auto state = hex(next_word(line));
  row.state = state.value_or(0);
  return state.has_value();
}

void TcpTable::read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::array<char, 16384> buffer;
  std::string rest;
  for (ssize_t got; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    rest.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (Row row; parse({rest.data() + begin, end - begin}, row)) rows_.push_back(row);
    rest.erase(0, begin);
  }
  ::close(fd);
}

TcpTable::TcpTable(const std::string& root) {
  read(root + "/proc/self/net/tcp");
  read(root + "/proc/self/net/tcp6");
}

TcpState TcpTable::to(const TcpEnd& listener) const {
  TcpState seen = TcpState::kUnknown;
  for (const Row& row : rows_) {
    if (row.remote != listener) continue;
    if (const auto made = row.made()) return *made;
    if (row.state == kSynSent) seen = TcpState::kTrying;
  }
  return seen;
}

std::set<std::uint16_t> TcpTable::listening() const {
  std::set<std::uint16_t> out;
  for (const Row& row : rows_)
    if (row.state == kListen) out.insert(row.local.port);
  return out;
}

TcpState TcpTable::from(const TcpEnd& listener) const {
  TcpState seen = TcpState::kUnknown;
  for (const Row& row : rows_) {
    if (row.local != listener) continue;
    if (const auto made = row.made()) return *made;
    if (row.state == kListen) seen = TcpState::kNone;
  }
  return seen;
}

}  // namespace nnd::facts
