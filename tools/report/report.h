// What happened to a job: all that the logs and boxes show, and which of it came first.
#pragma once

#include <optional>
#include <vector>

#include "report/balance.h"
#include "report/bandwidth.h"
#include "report/conclusion.h"
#include "report/counters.h"
#include "report/culprits.h"
#include "report/deviation.h"
#include "report/difference.h"
#include "report/kernel.h"
#include "report/late.h"
#include "report/model.h"
#include "report/named.h"
#include "report/own_words.h"
#include "report/picture.h"
#include "report/rails_apart.h"
#include "report/slow.h"

namespace nnd::report {

// The model, what follows from it, and what comparison shows.
struct Report : Model {
  Picture picture;
  FirstCause first;
  std::vector<Culprit> culprits;  // of kFailed, kHang and kDegraded
  std::vector<Slow> slow;
  std::vector<Unbalanced> unbalanced;
  std::vector<Late> late;
  const log::Latecomer* latecomer = nullptr;  // in the logs; null: nobody was told of
  std::vector<Bandwidth> bandwidths;
  std::vector<Grown> grown;
  std::vector<Apart> mismatched;  // that nobody noticed
  std::vector<Deviation> odd;
  std::optional<std::size_t> slower_link;  // of those
  std::optional<Difference> difference;    // of those: what explains the failure
  std::optional<RailsApart> rails;         // of an echo: why the other end failed, by its address
  bool crosses_rails = false;  // its nodes are alike, and NCCL connects one rail with another
  std::optional<OwnWords> own_words;  // what NCCL itself told whoever ended
  std::optional<ToldRoot> named;      // by its processes, where not all logs are here
  std::vector<KernelWord> kernel;     // what the nodes' kernels told, where their logs are here
  std::optional<std::size_t> kernel_sign;      // of those: why what failed first did
  std::optional<std::size_t> ended_by_kernel;  // of those: what the job failed of
  Kind kind = Kind::kHealthy;
  Blame blame = Blame::kNone;
  bool warned = false;   // rules or settings were warned of
  Ns started_again = 0;  // where whoever asks knows of a later incarnation: when it began

  bool found_cause() const { return kind >= Kind::kFailed; }
};

// Of one of the jobs in it, by default the last. Points into the input.
Report analyse(const Input& input, std::optional<int> expected_ranks = {},
               std::optional<std::size_t> run = {});

}  // namespace nnd::report
