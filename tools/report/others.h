// What a job failed of, as far as the files of other programs show it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foreign/evidence.h"
#include "report/bandwidth.h"
#include "report/conclusion.h"
#include "report/flights.h"
#include "report/raised.h"
#include "report/ras.h"

namespace nnd::report {

struct ForeignFindings {
  Kind kind = Kind::kRunning;  // kFailed, kHang, kLost, or nothing is known to be wrong
  Blame blame = Blame::kNone;
  const foreign::Fact* first = nullptr;  // that it failed of
  const foreign::Fact* sign = nullptr;   // what an HCA told of before, which explains it
  const foreign::Fact* noted = nullptr;  // what NCCL told of first, where nothing tells what failed
  std::vector<const foreign::Fact*> alike;  // other processes say the same
  std::string shared_end;  // a GID that each of these has at one end; empty: there is none
  std::size_t echoes = 0;  // processes that only tell that something else failed
  std::size_t processes = 0;
  std::set<std::string> hosts, releases, transports;
  bool no_hca = false;
  std::optional<Flight> flight;           // of PyTorch's Flight Recorder
  bool flight_first = false;              // it says more than what failed
  std::optional<Ras> ras;                 // of NCCL's RAS
  bool ras_first = false;                 // nothing else tells what failed
  const foreign::Fact* killed = nullptr;  // a process of the job that its kernel ended
  std::string killed_host;
  std::optional<int> killed_rank;
  std::optional<Raised> raised;              // a Python program's exception
  const foreign::Fact* ended = nullptr;      // a process, as who started it tells: the first
  const foreign::Fact* cancelled = nullptr;  // why Slurm ended all of it
  // That process, that exception, or that a node failed, is what the job failed of.
  bool killed_first = false, raised_first = false, ended_first = false, cancelled_first = false;
  std::vector<const foreign::Fact*> kernel;  // what else kernels told, the last first
  std::vector<Bandwidth> bandwidths;         // by NCCL's Inspector

  bool found() const {
    return first != nullptr || flight.has_value() || killed_first || raised_first || ended_first ||
           cancelled_first || ras_first;
  }
  // What says most of what failed: of the sign, where there is one.
  const foreign::Fact* headline() const {
    if (killed_first) return killed;
    if (raised_first) return raised->told;
    if (ended_first) return ended;
    if (cancelled_first) return cancelled;
    return sign != nullptr ? sign : first;
  }
};

// Points into the evidence.
ForeignFindings findings_of(const foreign::Evidence& evidence);

}  // namespace nnd::report
