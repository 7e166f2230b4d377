// What failed in a job: which failure came first, and what only followed from it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nccl_net_diag/causes.h"
#include "report/picture.h"

namespace nnd::report {

using nccl_net_diag::Reach;

// There is no other end whose fault it can be.
bool is_own(Reach reach);

struct Failure {
  const log::Diagnosis* told = nullptr;  // the event that says most
  std::size_t member = 0;
  Ns at = 0;
  Reach reach = Reach::kLocal;
  // For how long at least there had been no answer: its peer was gone by then, or is not what
  // failed.
  Ns unanswered = 0;
  bool recovered = false;           // NCCL tried again and got over it
  bool warned = false;              // a port tells of trouble; nothing has failed by that alone
  std::optional<std::size_t> peer;  // the process at the other end
  Place here, there;                // there: empty where there is no other end

  // Its peer had stopped answering by then.
  Ns gone_by() const { return at - unanswered; }
};

// Every failure of every process, by time; each once, however many events tell of it.
std::vector<Failure> failures_of(const Picture& picture);

// A process may open no more files.
bool is_out_of_files(const log::Diagnosis& told);
// NCCL goes on over TCP.
bool is_fallback(const log::Diagnosis& told);
// NCCL found no HCA there that it can use, or was told to use none.
bool is_on_tcp(const log::Process& process);

// Whether a process that ends can be what its peers fail of: a QP's move and what a rule says of a
// pair of ends don't need the peer's process.
bool can_follow_a_death(const Failure& failure);
// It says itself that the peer's process had ended.
bool proves_a_death(const Failure& failure);

}  // namespace nnd::report
