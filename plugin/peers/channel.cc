#include "peers/channel.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "context/quiet.h"
#include "peers/bucket.h"
#include "peers/directory.h"
#include "peers/siblings.h"
#include "peers/socket.h"
#include "record/recorder.h"

namespace nnd::peers {

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kTickMs = 100;
constexpr std::uint64_t kArrivalsMs = 2000;  // a healthy job sends less than a message a second
constexpr std::uint64_t kHelloAgainMs = 500, kHelloLaterMs = 10'000;
constexpr unsigned kHellosSoon = 8, kHellosLater = 40;
constexpr std::uint64_t kStableMs = 300;
constexpr std::uint16_t kHostPort = 1;  // TCPMUX, which nobody has: its host's kernel refuses it
// Datagrams a second. Of strangers are hellos, and what comes in a known name from an unknown
// place. To open one takes some two microseconds.
constexpr std::uint32_t kMostIn = 20'000, kMostOfStrangers = 10'000;
constexpr std::uint32_t kMostHellos = 1000, kMostOut = 2000;
constexpr int kMostRefusedAtOnce = 64;

struct Met {
  std::uint64_t proc;
  std::uint32_t listen;
  Address address;
  Secret secret;
};

// What NCCL's threads leave.
struct Shared {
  context::ForkMutex lock;
  Socket socket;
  Secret secret{};
  bool tried = false;
  std::vector<Met> met;
  std::atomic<std::uint32_t> newest_listen{0};  // number of a listener of ours
};
Shared& shared() {
  static context::Immortal<Shared> instance;
  return *instance;
}

class Channel {
 public:
  explicit Channel(ChannelSetup start)
      : start_(std::move(start)),
        who_(start_.self),
        engine_({.ask_ms = start_.ask_ms, .idle_ms = start_.ask_ms / 2}) {}

  void serve(std::uint64_t ns);
  std::uint64_t process_connected_to(std::uint32_t listen) const {
    return directory_.process_connected_to(listen);
  }
  bool settled();
  bool asked() const { return engine_.asked(now_ms()); }
  void look(LocalView own) {
    who_ = own.state.who;
    // Who fails early may end before it has found them.
    const bool fails = own.failed.cause != 0 && !std::exchange(failed_, true);
    if (fails) look_for_siblings();
    find_siblings(own);
    if (fails) greet();
    engine_.look(std::move(own), now_ms());
    flush();
  }
  void note_collective_times(const std::vector<Stay>& stays) {
    for (const Stay& one : stays) arrivals_.note_own_stay(one, this_one(), now_ms());
  }
  state::Latecomer latecomer() { return arrivals_.latecomer(now_ms()); }
  Answer answer();
  void leave() { siblings_.forget(); }

 private:
  static std::uint64_t now_ms() { return context::mono_ns() / kMs; }
  Who this_one() const {
    Who out = who_;
    out.proc = record::proc_id();
    return out;
  }

  bool take_met();
  bool take_all();
  void take(const Socket::Came& came);
  bool is_worth_opening(const Socket::Came& came, const Outside& outside, Contact* contact);
  void take_refused();
  void greet();
  void introduce();
  void introduce(std::uint64_t to, Contact& contact);
  void send_facts(std::uint64_t to, Contact& contact);
  void take_facts(std::uint64_t from, Contact& contact, const Introduction& said);
  void tell_arrivals();
  void flush();
  void send(std::uint64_t to, Contact& contact, Message message, KeyKind kind);

  void look_for_siblings();
  void find_siblings(LocalView& own);

  const ChannelSetup start_;
  Siblings siblings_;
  std::uint64_t siblings_ms_ = 0;  // looked for last
  unsigned looks_ = 0;             // for them
  bool greeted_ = false;           // by one that may be among them
  bool failed_ = false;            // this process
  std::vector<LocalView::Sibling> found_;
  Directory directory_;
  Who who_;
  Engine engine_;
  Introductions introductions_;
  Arrivals arrivals_;
  std::uint64_t arrivals_ms_ = 0, arrivals_to_ = 0;  // told last, and to whom
  Bucket in_{kMostIn}, strangers_{kMostOfStrangers}, hellos_{kMostHellos}, out_{kMostOut};
  std::uint64_t ticked_ms_ = 0;
  Claim last_;
  std::uint64_t changed_ms_ = 0;
};

// Made once, by start(); used by the watch's thread alone from then on.
std::atomic<Channel*> g_channel{nullptr};

Channel* channel() noexcept { return g_channel.load(std::memory_order_acquire); }

// Whether there were any: they are greeted before one of them can end.
bool Channel::take_met() {
  std::vector<Met> met;
  {
    const std::lock_guard guard(shared().lock);
    met.swap(shared().met);
  }
  siblings_.enter({record::proc_id(), shared().socket.address(), shared().secret, start_.job,
                   static_cast<std::uint32_t>(::getppid())},
                  start_.directory);
  for (const Met& one : met)
    if (Contact* const contact = directory_.add(one.proc, one.address, one.secret)) {
      contact->links.push_back(one.listen);
      contact->hello_ms = 0;
      contact->hellos = 0;
    }
  return !met.empty();
}

// No handle tells of them. They are greeted before anything waits, so that it is known of them that
// they were there; who has ended stays known.
void Channel::look_for_siblings() {
  ++looks_;
  siblings_ms_ = now_ms();
  greeted_ = false;
  for (const Sibling& one : siblings_.others()) {
    const bool other_job = one.job != start_.job && one.job != 0 && start_.job != 0;
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&](const auto& had) { return had.proc == one.proc; });
    Contact* const contact =
        other_job || known ? nullptr : directory_.add(one.proc, one.address, one.secret);
    if (contact == nullptr) continue;
    // Jobs may have one name, such as torchrun's of those that nobody named.
    const bool same_parent = one.parent == static_cast<std::uint32_t>(::getppid());
    found_.push_back({one.proc, one.job == start_.job && one.job != 0 && same_parent});
    contact->wanted = !contact->agreed;
  }
}

void Channel::find_siblings(LocalView& own) {
  constexpr std::uint64_t kEveryMs = 2000, kWhenGreetedMs = 500;
  constexpr unsigned kAtFirst = 30;  // they come one after the other
  const std::uint64_t now = now_ms();
  if (siblings_ms_ == 0 ||
      ((engine_.busy(now) || looks_ < kAtFirst) && now - siblings_ms_ >= kEveryMs) ||
      (greeted_ && now - siblings_ms_ >= kWhenGreetedMs))
    look_for_siblings();
  own.siblings = found_;
  own.alone = start_.alone && found_.empty();
}

void Channel::send(std::uint64_t to, Contact& contact, Message message, KeyKind kind) {
  if (!out_.take(now_ms())) return;
  message.number = ++contact.sent;
  // A hello is for whoever has that handle, which is its process.
  const Key key = kind == KeyKind::kHandle ? key_of_handle(contact.secret, to) : contact.key;
  const auto datagram = seal({kind, record::proc_id()}, key, encode(message));
  shared().socket.send(contact.address, datagram);
}

// Tells those to whom it has connected that it did, until they have confirmed it.
void Channel::greet() {
  const std::uint64_t now = now_ms();
  directory_.for_each([&](std::uint64_t proc, Contact& contact) {
    const bool unheard = contact.confirmed < contact.links.size() || contact.wanted;
    if (!contact.has_handle || !unheard) return;
    if (contact.hellos >= kHellosLater) return;  // it has no ear, or something keeps us apart
    const std::uint64_t pause = contact.hellos < kHellosSoon ? kHelloAgainMs : kHelloLaterMs;
    if (contact.hello_ms != 0 && now - contact.hello_ms < pause) return;
    contact.hello_ms = now;
    ++contact.hellos;
    if (!contact.key_ours && !contact.agreed) {
      contact.key = new_key();
      contact.key_ours = true;
    }
    Message message;
    message.type = Type::kHello;
    message.hello.key = contact.key;
    message.hello.who = who_;
    message.hello.who.proc = record::proc_id();
    const auto begin = contact.links.begin() + contact.confirmed;
    const auto count = std::min<std::ptrdiff_t>(contact.links.end() - begin, kLinksAtOnce);
    message.hello.links.assign(begin, begin + count);
    send(proc, contact, std::move(message), KeyKind::kHandle);
  });
}

// The lesser of two begins, so that both don't do so at once.
void Channel::introduce(std::uint64_t to, Contact& contact) {
  if (!start_.facts || !contact.agreed || !contact.has_connection() || !start_.facts().known())
    return;
  if (introductions_.due(contact.introduced, record::proc_id() < to, now_ms()))
    send_facts(to, contact);
}

void Channel::introduce() {
  directory_.for_each([&](std::uint64_t proc, Contact& contact) {
    if (!contact.introduced.known) introduce(proc, contact);
  });
}

void Channel::send_facts(std::uint64_t to, Contact& contact) {
  Message message;
  message.type = Type::kFacts;
  message.introduction = {who_, contact.introduced.heard, !contact.introduced.known,
                          start_.facts()};
  send(to, contact, std::move(message), KeyKind::kPair);
}

void Channel::take_facts(std::uint64_t from, Contact& contact, const Introduction& said) {
  if (!start_.facts || !contact.has_connection() || !start_.facts().known()) return;
  const auto next =
      introductions_.take(contact.introduced, said.have_yours, said.wants_word, now_ms());
  if (next.answer) send_facts(from, contact);
  if (!next.is_new || !start_.met) return;
  Who who = said.who;
  who.proc = from;
  start_.met(who, said.facts);
}

// A flood of one kind leaves time for the others, and what is dropped here costs next to nothing.
bool Channel::is_worth_opening(const Socket::Came& came, const Outside& outside, Contact* contact) {
  const std::uint64_t now = now_ms();
  if (outside.kind == KeyKind::kHandle) return strangers_.take(now);
  if (contact == nullptr || !(contact->key_ours || contact->agreed)) return false;
  if (came.from != contact->address) return strangers_.take(now);
  return contact->datagrams.take(now) && in_.take(now);
}

void Channel::take(const Socket::Came& came) {
  const auto outside = look_outside(came.datagram);
  const std::uint64_t self = record::proc_id();
  if (!outside || outside->from == 0 || outside->from == self) return;
  Contact* contact = directory_.find(outside->from);
  if (!is_worth_opening(came, *outside, contact)) return;
  const bool is_hello = outside->kind == KeyKind::kHandle;
  const auto opened =
      open(came.datagram, is_hello ? key_of_handle(shared().secret, self) : contact->key);
  if (!opened) return;
  if (!(is_hello ? hellos_ : contact->messages).take(now_ms())) return;
  const auto message = decode(*opened);
  if (!message || (message->type == Type::kHello) != is_hello) return;
  if (is_hello) {
    contact = directory_.take_hello(self, outside->from, came.from, message->hello,
                                    shared().newest_listen.load());
    if (contact == nullptr) greeted_ = true;
    if (contact == nullptr) return;
  }
  if (!contact->window.take(message->number)) return;
  contact->agreed = true;
  directory_.came_from(outside->from, *contact, came.from);
  const auto meet = [&](Who who) {
    who.proc = outside->from;
    engine_.met(who, now_ms());
  };
  if (is_hello) {
    meet(message->hello.who);
    Message answer;
    answer.type = Type::kWelcome;
    answer.welcome.who = who_;
    answer.welcome.links = contact->links_heard;
    send(outside->from, *contact, std::move(answer), KeyKind::kPair);
    introduce(outside->from, *contact);
  } else if (message->type == Type::kFacts) {
    take_facts(outside->from, *contact, message->introduction);
  } else if (message->type == Type::kArrivals) {
    arrivals_.heard(message->arrived, this_one(), now_ms());
  } else if (message->type == Type::kWelcome) {
    meet(message->welcome.who);
    contact->wanted = false;
    introduce(outside->from, *contact);
    const auto confirmed =
        std::min(message->welcome.links, static_cast<std::uint32_t>(contact->links.size()));
    if (confirmed <= contact->confirmed) return;  // no reason for another hello
    contact->confirmed = confirmed;
    contact->hellos = 0;
    contact->hello_ms = 0;  // the next ones at once
  } else {
    engine_.heard(outside->from, *message, now_ms());
  }
}

void Channel::take_refused() {
  for (int i = 0; i < kMostRefusedAtOnce; ++i) {
    const auto address = shared().socket.refused();
    if (!address) return;
    const std::uint64_t now = now_ms();
    for (const std::uint64_t proc : directory_.at(*address)) engine_.refused(proc, now);
    if (address->port != kHostPort) continue;
    for (const std::uint64_t proc : directory_.at({address->ip, 0}))
      engine_.host_answered(proc, now);
  }
}

// Whether this process has woken itself.
bool Channel::take_all() {
  take_refused();
  bool woken = false;
  for (int i = 0; i < 256; ++i) {
    const auto came = shared().socket.receive(kLargestMessage + kSealed);
    if (!came) break;
    if (came->datagram.empty())
      woken = woken || came->from == shared().socket.address();
    else
      take(*came);
  }
  return woken;
}

// One peer after the other, those of its node among them: each tells what it has heard.
void Channel::tell_arrivals() {
  const std::uint64_t now = now_ms();
  if (now - arrivals_ms_ < kArrivalsMs) return;
  arrivals_ms_ = now;
  Message message;
  message.type = Type::kArrivals;
  message.arrived = arrivals_.to_tell(now);
  if (message.arrived.empty()) return;
  Contact* next = nullptr;
  std::uint64_t to = 0;
  directory_.for_each([&](std::uint64_t proc, Contact& contact) {
    if (!contact.agreed) return;
    const bool later = proc > arrivals_to_;
    if (next != nullptr && (to > arrivals_to_ || !later)) return;  // they come in their order
    next = &contact;
    to = proc;
  });
  if (next == nullptr) return;
  arrivals_to_ = to;
  send(to, *next, std::move(message), KeyKind::kPair);
}

void Channel::flush() {
  for (Engine::Out& out : engine_.take_out())
    if (Contact* const contact = directory_.find(out.to); contact != nullptr && contact->agreed)
      send(out.to, *contact, std::move(out.message), KeyKind::kPair);
  for (const std::uint64_t proc : engine_.take_tries())
    if (const Contact* const contact = directory_.find(proc))
      shared().socket.send({contact->address.ip, kHostPort}, {});
}

void Channel::serve(std::uint64_t ns) {
  const std::uint64_t until = context::mono_ns() + ns;
  for (bool woken = false;;) {
    const std::uint64_t now = now_ms();
    if (take_met()) {
      // By now the others of this node have made connections too: found before one of them can end.
      constexpr std::uint64_t kWhenMetMs = 200;
      if (now - siblings_ms_ >= kWhenMetMs) look_for_siblings();
      greet();
    }
    woken = take_all();
    if (now - ticked_ms_ >= kTickMs) {
      ticked_ms_ = now;
      greet();
      introduce();
      tell_arrivals();
      engine_.tick(now);
    }
    flush();
    const std::uint64_t mono = context::mono_ns();
    if (woken || mono >= until) return;
    const std::uint64_t rest = until - mono;
    const std::uint64_t next = engine_.busy(now) ? kTickMs * kMs : 500 * kMs;
    // A flood costs what its datagrams cost and no more passes than these.
    if (shared().socket.wait(std::min(rest, next))) {
      constexpr timespec kBreath{0, 200'000};
      ::nanosleep(&kBreath, nullptr);
    }
  }
}

// Who has just connected may not have answered the hello.
bool Channel::settled() {
  const std::uint64_t now = now_ms();
  bool met = true;
  if (engine_.warns(now))
    directory_.for_each([&](std::uint64_t, const Contact& contact) {
      met = met && (contact.agreed || !contact.has_handle || contact.hellos > 2);
    });
  return met && engine_.settled(now);
}

Answer Channel::answer() {
  const std::uint64_t now = now_ms();
  Answer out{engine_.claim(now), false, engine_.awaited_ms(now)};
  if (!same_root(out.claim, last_)) {
    last_ = out.claim;
    changed_ms_ = now;
  }
  out.stable = now - changed_ms_ >= kStableMs;
  return out;
}

void sleep(std::uint64_t ns) noexcept {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&time, nullptr);
}

constexpr context::Gid kAnyIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};

void open_once(Shared& own, const context::Gid& ip) {
  if (own.tried) return;
  own.tried = true;
  own.socket.open(ip);
}

}  // namespace

void start(ChannelSetup start) noexcept {
  if (channel() != nullptr) return;
  context::quietly([&] {
    if (!seals_work()) return;
    context::in_forked_child(forget);
    {
      const std::lock_guard guard(shared().lock);
      shared().secret = new_secret();
    }
    g_channel.store(std::make_unique<Channel>(std::move(start)).release(),
                    std::memory_order_release);
  });
}

bool wanted() noexcept { return channel() != nullptr; }

std::optional<ChannelEndpoint> listening(std::uint32_t listen, const context::Gid& ip) noexcept {
  if (channel() == nullptr) return std::nullopt;
  std::optional<ChannelEndpoint> out;
  context::quietly([&] {
    const std::lock_guard guard(shared().lock);
    Shared& own = shared();
    open_once(own, ip);
    // At another address nobody would find it.
    const context::Gid& bound = own.socket.address().ip;
    if (!own.socket.is_open() || (bound != ip && bound != kAnyIpv4 && bound != context::Gid{}))
      return;
    if (own.newest_listen.load() < listen) own.newest_listen.store(listen);
    out = {own.socket.address().port, own.secret};
  });
  return out;
}

void connecting(std::uint64_t proc, std::uint32_t listen, const context::Gid& ip,
                const ChannelEndpoint& endpoint, bool anywhere) noexcept {
  if (channel() == nullptr || endpoint.port == 0) return;
  context::quietly([&] {
    const std::lock_guard guard(shared().lock);
    // Where it listens nowhere itself.
    if (anywhere) open_once(shared(), context::gid_ipv4(ip) ? kAnyIpv4 : context::Gid{});
    if (shared().met.size() < Directory::kMost)
      shared().met.push_back({proc, listen, {ip, endpoint.port}, endpoint.secret});
  });
  wake();
}

void serve(std::uint64_t ns) noexcept {
  Channel* const own = channel();
  if (own == nullptr || !shared().socket.is_open()) return sleep(ns);
  context::quietly([&] { own->serve(ns); });
}

void wake() noexcept {
  // What it is told by itself is dropped unread.
  if (channel() != nullptr && shared().socket.is_open())
    shared().socket.send(shared().socket.address(), {});
}

std::uint64_t process_connected_to(std::uint32_t listen) noexcept {
  const Channel* const own = channel();
  return own == nullptr ? 0 : own->process_connected_to(listen);
}

bool asked() noexcept {
  const Channel* const own = channel();
  return own != nullptr && own->asked();
}

bool settled() noexcept {
  Channel* const own = channel();
  return own == nullptr || own->settled();
}

void look(LocalView own_state) noexcept {
  if (Channel* const own = channel()) context::quietly([&] { own->look(std::move(own_state)); });
}

void note_collective_times(const std::vector<Stay>& stays) noexcept {
  if (Channel* const own = channel(); own != nullptr && !stays.empty())
    context::quietly([&] { own->note_collective_times(stays); });
}

state::Latecomer latecomer() noexcept {
  Channel* const own = channel();
  state::Latecomer out;
  if (own != nullptr) context::quietly([&] { out = own->latecomer(); });
  return out;
}

Answer answer() noexcept {
  Channel* const own = channel();
  Answer out;
  if (own != nullptr) context::quietly([&] { out = own->answer(); });
  return out;
}

void forget() noexcept {
  context::quietly([&] {
    // Its memory is the parent's last, its files would make who has ended seem alive.
    if (Channel* const own = g_channel.exchange(nullptr)) own->leave();
    const std::lock_guard guard(shared().lock);
    shared().socket.close();
    shared().tried = false;
    shared().met.clear();
  });
}

}  // namespace nnd::peers
