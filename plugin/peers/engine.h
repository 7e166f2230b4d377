// Finds out who is to blame that this process waits: it asks those that it waits for, who ask
// theirs, and what the last of them is comes back along the same way. No I/O and no clock of its
// own: a test plays ten thousand of them. One thread.
//
// A process that waits for nobody is the root, and says so; so is one that has ended, or does not
// answer, as its neighbours see; a pair whose ends disagree; and a ring of processes that wait for
// each other, which a probe finds that comes around. Who has heard of a root tells those who have
// asked it within the last seconds, at once, and again while it is so: what nobody repeats is
// forgotten, so that no rumour survives what it tells of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "peers/bucket.h"
#include "peers/message.h"

namespace nnd::peers {

// What a process sees of itself.
struct LocalView {
  State state;
  std::vector<Doing> given;  // the last of each of its communicators

  // A process that it waits for.
  struct Edge {
    std::uint64_t proc = 0;
    std::uint32_t age_ms = 0;
    std::vector<Link> links;  // the longest waits first; `yours` as for a message to it
  };
  std::vector<Edge> edges;
  // That others of its node wait for, over connections that it has for them (PXN).
  std::vector<Edge> relayed;
  // Where others ask: connections that want nothing, by the process at the other end.
  std::map<std::uint64_t, std::vector<Link>> quiet;
  std::uint32_t waits_ms = 0;  // the longest, also where it isn't known for whom

  struct Trouble {
    std::uint16_t cause = 0;  // as of a claim; 0: there is none
    state::FixedText<24> place;
    std::uint32_t age_ms = 0;
    std::uint64_t proc = 0;  // at the other end of what failed; 0: not known, or none
  };
  Trouble failed, port_down;

  std::uint32_t meets_ms = 0;  // how long its bootstrap has waited for other ranks; 0: it does not

  bool worked = false;  // something has completed over the network
  // NCCL's progress threads sleep: all that it was given to do over the network is done.
  bool rests = false;
  // It was given something and wants nothing of the network: processes of its own node may be what
  // it waits for.
  bool inside = false;
  // Processes of its node.
  struct Sibling {
    std::uint64_t proc = 0;
    bool same_job = false;  // else it is not known
  };
  std::vector<Sibling> siblings;
  bool alone = true;  // on its node, as far as is known

  // Also of what it has for others.
  std::uint32_t longest_ms() const {
    return std::max(waits_ms, relayed.empty() ? 0 : relayed.front().age_ms);
  }
};

// How old a wait is before anybody is asked, and that of a process before it counts as idle.
struct AskTiming {
  std::uint32_t ask_ms = 8000;
  std::uint32_t idle_ms = 1000;
};

class Engine {
 public:
  explicit Engine(AskTiming timing) : timing_(timing) {}

  // Times are milliseconds of any clock that doesn't go back.
  void look(LocalView own, std::uint64_t now_ms);
  void heard(std::uint64_t from, const Message& message, std::uint64_t now_ms);
  // It has said hello, or answered one.
  void met(const Who& who, std::uint64_t now_ms);
  // Nobody has that port any more, says the kernel of its host.
  void refused(std::uint64_t proc, std::uint64_t now_ms);
  // What came back of a try of the host itself.
  void host_answered(std::uint64_t proc, std::uint64_t now_ms);
  // Every 100 ms while it is busy.
  void tick(std::uint64_t now_ms);
  bool busy(std::uint64_t now_ms) const;

  // Nothing that its peers should hear before it ends is on its way.
  bool settled(std::uint64_t now_ms) const;
  // Something has just failed here: all that can hear it should.
  bool warns(std::uint64_t now_ms) const { return now_ms < warns_until_ms_; }

  // What is to be sent; hosts that are to be tried.
  struct Out {
    std::uint64_t to = 0;
    Message message;
  };
  std::vector<Out> take_out();
  std::vector<std::uint64_t> take_tries();

  // As of now; its kind is kNone while nothing is known.
  Claim claim(std::uint64_t now_ms) const;
  bool asked(std::uint64_t now_ms) const;  // by anybody, within the last seconds
  // How long the longest wait of those that ask this process is by now.
  std::uint32_t awaited_ms(std::uint64_t now_ms) const;

 private:
  struct Peer {
    Who who;
    bool answers = false;  // has answered, ever
    std::uint64_t asked_ms = 0;
    std::uint64_t unheard_since_ms = 0;  // the first question that is not answered; 0: none
    unsigned unheard = 0;                // questions
    std::uint64_t said_ms = 0;
    Say said;
    std::uint64_t busy_since_ms = 0;  // it has said that it neither waits nor rests; 0: it does
    std::uint64_t refused_ms = 0;     // first
    unsigned refusals = 0;
    std::uint64_t tried_ms = 0;  // its host
    unsigned tries = 0;
    bool host_answers = false;
    std::uint64_t asked_us_ms = 0;  // 0: never
    std::vector<Link> their_links;  // of that question
    std::uint64_t told_ms = 0;      // when it was sent our word
    Claim told;
    bool told_elsewhere = false;
  };
  struct Round {  // a probe that has passed
    std::uint64_t initiator = 0;
    std::uint32_t round = 0;
    std::uint64_t seen_ms = 0;
  };

  bool wants_to_know(std::uint64_t now_ms) const;
  bool waits_for_strangers() const;
  std::vector<std::uint64_t> those_that_ask(std::uint64_t now_ms) const;
  std::vector<const LocalView::Edge*> asked_edges() const;
  std::vector<std::uint64_t> those_known() const;
  void ask(std::uint64_t proc, const std::vector<Link>& links, std::uint64_t now_ms);
  void say(std::uint64_t proc, Peer& peer, std::uint64_t now_ms);
  void tell_all(std::uint64_t now_ms);
  void warn_all(std::uint64_t now_ms);
  void ask_other_end(std::uint64_t now_ms);
  void think(std::uint64_t now_ms);
  Claim own_claim(std::uint64_t now_ms) const;
  Claim of_edge(const LocalView::Edge& edge, const Peer& peer, std::uint64_t now_ms) const;
  bool is_behind(std::uint64_t now_ms) const;
  bool may_wait_for_sibling(std::uint64_t now_ms) const;
  bool rests(std::uint64_t now_ms) const;
  bool its_node_waits_for_it(std::uint64_t now_ms) const;
  std::uint8_t elsewhere(std::uint64_t now_ms) const;
  bool may_wait_for(std::uint64_t proc, std::uint64_t now_ms) const;
  bool is_late_untold(const LocalView::Sibling& sibling, const Peer& peer, const Claim& claim,
                      std::uint64_t now_ms) const;
  Who failed_with() const;
  Claim of_difference(const Peer& peer) const;
  Claim of_silence(const Peer& peer, std::uint64_t now_ms) const;
  Claim of_sibling(const LocalView::Sibling& sibling, const Peer& peer, std::uint64_t now_ms) const;
  Claim adopted(const Peer& peer, std::uint64_t now_ms) const;
  bool knows_better(const Claim& claim, std::uint64_t now_ms) const;
  Doing given(std::uint64_t comm) const;
  std::vector<Link> seen_here(std::uint64_t proc, const std::vector<Link>& asked) const;
  bool silent(const Peer& peer, std::uint64_t now_ms) const;
  State state_for(const Peer& peer, std::uint64_t now_ms) const;
  bool asks_us(const Peer& peer, std::uint64_t now_ms) const;
  void take_probe(const Probe& probe, std::uint64_t now_ms);
  void probe_if_nobody_knows(std::uint64_t now_ms);
  void pass_on(Probe probe);
  std::uint64_t awaited() const;  // the longest
  Out& out(std::uint64_t to, Type type);

  AskTiming timing_;
  LocalView own_;
  std::map<std::uint64_t, Peer> peers_;
  std::vector<Out> out_;
  std::vector<std::uint64_t> tries_;
  Claim claim_;
  std::uint64_t claim_ms_ = 0;   // its ages are of then
  std::uint64_t failed_ms_ = 0;  // with what own_ tells of
  std::uint64_t warns_until_ms_ = 0;
  Claim warned_;
  bool late_beside_others_ = false;   // by its own claim
  std::uint64_t asked_ms_ = 0;        // since when others ask; 0: nobody does
  std::uint64_t rests_since_ms_ = 0;  // it has rested; 0: it does not
  std::uint64_t unknown_ms_ = 0;  // since when nothing is known though it asks; 0: it is, or none
  std::optional<Claim> cycle_;
  std::uint64_t cycle_ms_ = 0;
  Round last_probe_;
  Bucket probes_{20};  // passed on: in a ring the greatest few of each second
  std::uint32_t round_ = 0;
  std::uint64_t probed_ms_ = 0;
};

}  // namespace nnd::peers
