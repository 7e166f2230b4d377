#include "peers/message.h"

#include <algorithm>
#include <concepts>
#include <string_view>
#include <type_traits>

#include "nccl_net_diag/causes.h"

namespace nnd::peers {

namespace {

// A question is at least half as long as its answer, whoever asks: nobody gains by asking in
// another's name.
constexpr std::size_t kShortest = 256;

// One description of each value serves both ways: `io` is a Writer or a Reader.
class Writer {
 public:
  template <std::integral T>
  void number(const T& value) {
    auto rest = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::uint8_t>(rest & 0xff));
      rest = static_cast<std::make_unsigned_t<T>>(std::uint64_t{rest} >> 8);
    }
  }
  void flag(const bool& value) { out_.push_back(value ? 1 : 0); }
  template <class E>
  void choice(const E& value, E) {
    out_.push_back(static_cast<std::uint8_t>(value));
  }
  template <std::size_t n>
  void text(const state::FixedText<n>& value) {
    const std::string_view view = value;
    number(static_cast<std::uint8_t>(view.size()));
    out_.insert(out_.end(), view.begin(), view.end());
  }
  template <std::size_t n>
  void bytes(const std::array<std::uint8_t, n>& value) {
    out_.insert(out_.end(), value.begin(), value.end());
  }
  template <class T, class F>
  void list(const std::vector<T>& values, std::size_t most, F&& each) {
    const std::size_t count = std::min(values.size(), most);
    number(static_cast<std::uint8_t>(count));
    for (std::size_t i = 0; i < count; ++i) each(values[i]);
  }
  // What later versions have added: others don't look behind what they know.
  template <class F>
  void later(std::size_t, F&& each) {
    each();
  }
  Bytes take() {
    if (out_.size() < kShortest) out_.resize(kShortest);
    return std::move(out_);
  }

 private:
  Bytes out_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> in) : in_(in) {}

  template <std::integral T>
  void number(T& value) {
    if (!has(sizeof(T))) return;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) all |= std::uint64_t{in_[at_ + i]} << (8 * i);
    value = static_cast<T>(all);
    at_ += sizeof(T);
  }
  void flag(bool& value) {
    std::uint8_t byte = 0;
    number(byte);
    ok_ = ok_ && byte <= 1;
    value = byte == 1;
  }
  template <class E>
  void choice(E& value, E end) {
    std::uint8_t byte = 0;
    number(byte);
    // One that only later versions know is the first, which says nothing: who is not understood is
    // alive all the same.
    if (byte < static_cast<std::uint8_t>(end)) value = static_cast<E>(byte);
  }
  // What a peer says is printed: nothing that a terminal would obey, and only what names have, lest
  // somebody pastes it into a shell.
  template <std::size_t n>
  void text(state::FixedText<n>& value) {
    std::uint8_t size = 0;
    number(size);
    ok_ = ok_ && size < n;
    if (!has(size)) return;
    std::array<char, n> plain{};
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint8_t c = in_[at_ + i];
      ok_ = ok_ && c > 0x20 && c < 0x7f;
      plain[i] = is_of_names(c) ? static_cast<char>(c) : '?';
    }
    if (ok_) value = std::string_view(plain.data(), size);
    at_ += size;
  }
  template <std::size_t n>
  void bytes(std::array<std::uint8_t, n>& value) {
    if (!has(n)) return;
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(at_), n, value.begin());
    at_ += n;
  }
  template <class T, class F>
  void list(std::vector<T>& values, std::size_t most, F&& each) {
    std::uint8_t count = 0;
    number(count);
    ok_ = ok_ && count <= most;
    if (!ok_) return;
    values.resize(count);
    for (T& value : values) each(value);
  }
  template <class F>
  void later(std::size_t size, F&& each) {
    if (ok_ && in_.size() - at_ >= size) each();
  }
  bool ok() const { return ok_; }

 private:
  static bool is_of_names(std::uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("._:-/+@").find(static_cast<char>(c)) != std::string_view::npos;
  }
  bool has(std::size_t size) {
    ok_ = ok_ && in_.size() - at_ >= size;
    return ok_;
  }

  std::span<const std::uint8_t> in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

template <class IO, class T>
void describe_who(IO& io, T& who) {
  io.number(who.proc);
  io.number(who.rank);
  io.number(who.pid);
  io.text(who.host);
}

template <class IO, class T>
void describe_doing(IO& io, T& doing) {
  io.text(doing.func);
  io.number(doing.comm);
  io.number(doing.ordinal);
  io.number(doing.number);
  io.number(doing.bytes);
}

template <class IO, class T>
void describe_link(IO& io, T& link) {
  io.flag(link.yours);
  io.number(link.listen);
  io.choice(link.state, EndState::kCount);
  io.number(link.age_ms);
  io.flag(link.moved.known);
  io.number(link.moved.requests);
  io.number(link.moved.bytes);
}

template <class IO, class T>
void describe_state(IO& io, T& state) {
  describe_who(io, state.who);
  io.flag(state.moves);
  io.flag(state.failed);
  io.number(state.idle_ms);
  io.number(state.awaits);
  describe_doing(io, state.given);
  describe_doing(io, state.in);
}

// Of what NCCL does not tell up to 2.22.
template <class IO, class T>
void describe_untold(IO& io, T& state) {
  io.later(2 * sizeof(state.posted_ns) + sizeof(state.elsewhere), [&] {
    io.number(state.posted_ns);
    io.number(state.posted_receive_ns);
    io.number(state.elsewhere);
  });
}

// A cause goes by a number made of its id (FNV-1a): its place in the table is this version's own.
constexpr std::uint32_t code_of(std::string_view id) {
  std::uint32_t code = 2166136261;
  for (const char c : id) code = (code ^ static_cast<unsigned char>(c)) * 16777619;
  return code;
}

std::uint32_t code_of(std::uint16_t cause) {
  const auto& all = nccl_net_diag::kCauses;
  return cause == 0 || cause > all.size() ? 0 : code_of(all[cause - 1u].id);
}

// 0: none, or one that only later versions know.
std::uint16_t cause_of(std::uint32_t code) {
  const auto& all = nccl_net_diag::kCauses;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (code_of(all[i].id) == code) return static_cast<std::uint16_t>(i + 1);
  return 0;
}

bool has_other(Kind kind) {
  return kind == Kind::kPair || kind == Kind::kCycle || kind == Kind::kFailed;
}

template <class IO, class T>
void describe_claim(IO& io, T& claim) {
  io.choice(claim.kind, Kind::kCount);
  if (claim.kind == Kind::kNone) return;
  describe_who(io, claim.who);
  describe_doing(io, claim.doing);
  if (has_other(claim.kind)) {
    describe_who(io, claim.other);
    describe_doing(io, claim.other_doing);
  }
  std::uint32_t cause = code_of(claim.cause);
  io.number(cause);
  if constexpr (!std::is_const_v<T>) claim.cause = cause_of(cause);
  io.text(claim.place);
  io.number(claim.age_ms);
  io.number(claim.told_ms);
  io.number(claim.hops);
}

template <class IO, class T>
void describe_facts(IO& io, T& facts) {
  io.number(facts.nccl);
  io.number(facts.version);
  io.choice(facts.transport, Transport::kCount);
  io.number(facts.ports);
  io.number(facts.speed_mbps);
  io.number(facts.mtu);
  io.choice(facts.link_layer, LinkLayer::kCount);
  io.choice(facts.gids, Gids::kCount);
  io.choice(facts.gpu_direct, GpuDirect::kCount);
  io.choice(facts.fusion, Fusion::kCount);
  io.number(facts.qps);
  io.number(facts.traffic_class);
  io.number(facts.service_level);
  io.flag(facts.all_settings);
  io.list(facts.settings, kMostSettings, [&](auto& setting) {
    io.number(setting.name);
    io.number(setting.value);
  });
}

template <class IO, class M>
void describe(IO& io, M& message) {
  io.number(message.number);
  switch (message.type) {
    case Type::kHello:
      io.bytes(message.hello.key);
      describe_who(io, message.hello.who);
      io.list(message.hello.links, kLinksAtOnce, [&](auto& number) { io.number(number); });
      break;
    case Type::kWelcome:
      describe_who(io, message.welcome.who);
      io.number(message.welcome.links);
      break;
    case Type::kAsk:
      describe_state(io, message.ask.state);
      io.list(message.ask.links, kLinksAsked, [&](auto& link) { describe_link(io, link); });
      describe_untold(io, message.ask.state);
      break;
    case Type::kSay:
      describe_state(io, message.say.state);
      io.list(message.say.links, kLinksAsked, [&](auto& link) { describe_link(io, link); });
      describe_claim(io, message.say.claim);
      describe_untold(io, message.say.state);
      break;
    case Type::kProbe:
      io.number(message.probe.initiator);
      io.number(message.probe.round);
      io.number(message.probe.hops);
      io.flag(message.probe.all_alone);
      describe_who(io, message.probe.least_who);
      describe_who(io, message.probe.most_who);
      describe_doing(io, message.probe.least);
      describe_doing(io, message.probe.most);
      break;
    case Type::kFacts:
      describe_who(io, message.introduction.who);
      io.flag(message.introduction.have_yours);
      io.flag(message.introduction.wants_word);
      describe_facts(io, message.introduction.facts);
      break;
    case Type::kArrivals:
      io.list(message.arrived.arrivals, kArrivalsAtOnce, [&](auto& one) {
        io.number(one.comm);
        io.number(one.ordinal);
        io.number(one.shortest_us);
        io.number(one.next_us);
        io.number(one.age_ms);
        describe_who(io, one.last);
      });
      describe_who(io, message.arrived.latecomer.who);
      io.number(message.arrived.latecomer.times);
      io.number(message.arrived.latecomer.of);
      io.number(message.arrived.latecomer.us);
      io.number(message.arrived.age_ms);
      break;
  }
}

}  // namespace

Bytes encode(const Message& message) {
  Writer out;
  out.number(static_cast<std::uint8_t>(message.type));
  describe(out, message);
  return out.take();
}

std::optional<Message> decode(std::span<const std::uint8_t> bytes) {
  if (bytes.empty() || bytes.size() > kLargestMessage) return std::nullopt;
  const std::uint8_t type = bytes[0];
  if (type < static_cast<std::uint8_t>(Type::kHello) ||
      type > static_cast<std::uint8_t>(Type::kArrivals))
    return std::nullopt;
  Message message;
  message.type = static_cast<Type>(type);
  Reader in(bytes.subspan(1));
  describe(in, message);
  return in.ok() ? std::optional(std::move(message)) : std::nullopt;
}

}  // namespace nnd::peers
