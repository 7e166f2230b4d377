// All that the files of other programs say of a job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "foreign/fact.h"
#include "foreign/flight_dump.h"
#include "foreign/inspector.h"
#include "foreign/ras_status.h"

namespace nnd::foreign {

class Evidence {
 public:
  // What a writer said before is counted, and not kept again. Past a million facts more are only
  // counted.
  void add(Fact&& fact);
  void merge(Evidence&& other);

  const std::vector<Fact>& facts() const { return facts_; }
  std::vector<FlightDump> dumps;
  std::vector<RasStatus> ras;
  std::vector<Inspected> inspected;
  std::vector<std::string> files;     // that told anything
  std::vector<std::string> problems;  // files that could not be read, a sentence each
  std::uint64_t left_out = 0;         // facts beyond the bound

 private:
  std::vector<Fact> facts_;
  std::unordered_map<std::string, std::size_t> known_;  // by all that tells facts apart
};

// Reads them on all CPUs, each as what its content shows that it is. stop: asked now and then.
Evidence read_files(const std::vector<std::string>& files, const std::function<bool()>& stop);

}  // namespace nnd::foreign
