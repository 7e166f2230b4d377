#include <functional>

#include "synth/cluster.h"

namespace nnd::synth {

namespace {

class Faults {
 public:
  explicit Faults(Cluster& cluster) : c_(cluster) {}

  Planted plant() {
    guilty_ = static_cast<int>(c_.random() % at(c_.spec.ranks));
    Planted out = of_first();
    if (c_.spec.second != Fault::kNone) out.second = plant_second();
    if (falls_) fall_over();
    return out;
  }

 private:
  Planted of_first() {
    const Planted hca{c_.host(guilty_), c_.dev(guilty_), {}, {}};
    const Planted node{c_.host(guilty_), "", {}, {}};
    const Planted rank{c_.host(guilty_), "", c_.label(guilty_), {}};
    switch (c_.spec.fault) {
      case Fault::kNone:
      case Fault::kCount:
        return {};
      case Fault::kCable:
      case Fault::kCableTold:
      case Fault::kPort:
        break_links([&](const Link& link) { return touches(link, guilty_); }, Fate::kFailed);
        if (c_.spec.fault == Fault::kCableTold) c_.port_down = guilty_;
        return hca;
      case Fault::kRail:
        break_links([&](const Link& link) { return rail(link.from) == rail(guilty_); },
                    Fate::kFailed);
        return {"", c_.dev(guilty_), {}, {}};
      case Fault::kPlane:
        break_links([&](const Link& link) { return rail(link.from) / 4 == rail(guilty_) / 4; },
                    Fate::kFailed);
        return {"", "", {}, {}};
      case Fault::kWrongSubnet:
        c_.stray = guilty_;
        break_links([&](const Link& link) { return touches(link, guilty_); }, Fate::kRefused);
        return hca;
      case Fault::kMemlock:
        c_.unlocked = guilty_;
        falls_ = true;
        return node;
      case Fault::kNodeDied:
        for (int other = 0; other < c_.spec.ranks; ++other)
          if (node_of(other) == node_of(guilty_)) kill(other, kFault + c_.between(0, 50 * kMs));
        return node;
      case Fault::kRankDied:
        kill(guilty_, kFault);
        return rank;
      case Fault::kRankLeft:
        leave();
        return rank;
      case Fault::kRankMissing:
        miss();
        return {"", "", c_.label(guilty_), {}};
      case Fault::kRankIdle:
        starve();
        c_.idle = guilty_;
        return rank;
      case Fault::kMismatched:
        starve();
        for (Link& link : c_.links) {
          link.recv = Fate::kNothingCame;
          link.send = Fate::kFine;  // what was posted was filled, with what belongs elsewhere
        }
        c_.mismatched = guilty_;
        return rank;
      case Fault::kStuckHca:
        stuck();
        return hca;
      case Fault::kSlowHca:
        c_.slow = guilty_;
        return hca;
      case Fault::kOtherVariable:
        c_.odd = guilty_;
        return node;
    }
    return {};
  }

  // On another node and another rail.
  Planted::Place plant_second() {
    int other = guilty_;
    while (node_of(other) == node_of(guilty_) || rail(other) == rail(guilty_))
      other = static_cast<int>(c_.random() % at(c_.spec.ranks));
    if (c_.spec.second == Fault::kCable)
      break_links([&](const Link& link) { return touches(link, other); }, Fate::kFailed);
    if (c_.spec.second == Fault::kSlowHca) c_.slow = other;
    if (c_.spec.second == Fault::kOtherVariable) c_.odd = other;
    return {c_.host(other), c_.dev(other)};
  }

  template <typename Which>
  void break_links(const Which& which, Fate fate) {
    for (Link& link : c_.links)
      if (which(link)) link.send = fate;
    falls_ = true;
  }

  // After a failure some tell that the other end has failed, and all end.
  void fall_over() {
    const bool early = c_.spec.fault == Fault::kWrongSubnet || c_.spec.fault == Fault::kMemlock;
    const Ns from = (early ? 2 * kSec : kFault) + 8 * kSec;
    for (const Link& link : c_.links)
      if (link.send == Fate::kFine && link.recv == Fate::kFine && c_.random() % 4 == 0)
        c_.echoes.push_back({link, from + c_.between(0, 2 * kSec)});
    for (int rank = 0; rank < c_.spec.ranks; ++rank)
      if (c_.clean[at(rank)] && c_.ends[at(rank)] == kEnd)
        c_.ends[at(rank)] = from + c_.between(3 * kSec, 4 * kSec);
  }

  void kill(int rank, Ns when) {
    c_.ends[at(rank)] = when;
    c_.clean[at(rank)] = false;
    for (Link& link : c_.links)
      if (link.to == rank && c_.clean[at(link.from)]) link.send = Fate::kFailed;
    falls_ = true;
  }

  void leave() {
    break_links([&](const Link& link) { return link.to == guilty_; }, Fate::kFailed);
    c_.ends[at(guilty_)] = kFault;
  }

  void hang() {
    for (int rank = 0; rank < c_.spec.ranks; ++rank) {
      c_.ends[at(rank)] = kHangEnd + c_.between(0, 100 * kMs);
      c_.clean[at(rank)] = false;
    }
  }

  void miss() {
    c_.absent = guilty_;
    for (Link& link : c_.links) {
      if (link.to == guilty_) link.send = Fate::kNever;
      if (link.from == guilty_) link.recv = Fate::kNever;
    }
    hang();
  }

  // Whoever gets nothing sends nothing on.
  void starve() {
    for (Link& link : c_.links) {
      link.recv = link.to == guilty_ ? Fate::kFine : Fate::kNothingCame;
      link.send = link.to == guilty_ ? Fate::kNoReceive : Fate::kFine;
    }
    hang();
  }

  void stuck() {
    for (Link& link : c_.links)
      if (touches(link, guilty_)) {
        link.send = Fate::kStuck;
        link.recv = Fate::kNothingCame;
      } else if (c_.random() % 2 == 0) {
        link.recv = Fate::kNothingCame;
      }
    hang();
  }

  Cluster& c_;
  int guilty_ = 0;
  bool falls_ = false;
};

}  // namespace

Planted plant(Cluster& cluster) { return Faults(cluster).plant(); }

}  // namespace nnd::synth
