// The event peer.differs: in what this process and one that it has a connection with differ, told
// for each thing once, however many differ in it. One thread.
#pragma once

#include <set>
#include <string>

#include "peers/bucket.h"
#include "peers/claim.h"
#include "peers/facts.h"
#include "peers/facts_differ.h"

namespace nnd::watch {

class Unlike {
 public:
  void met(const peers::ProcessFacts& own, const peers::Variables& variables, const peers::Who& who,
           const peers::ProcessFacts& theirs);
  void forget() { told_.clear(); }

 private:
  std::set<std::string> told_;        // no more than this process has names for
  peers::Bucket lines_{10, 600'000};  // those that lie are not to fill the log
};

}  // namespace nnd::watch
