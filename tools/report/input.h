// All that is known of a job: event logs and black boxes, wherever they lie and whatever else lies
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "log/job.h"
#include "log/reader.h"
#include "report/box_lines.h"

namespace nnd::report {

// The black box that a process left, or still writes.
struct Box {
  std::string file;
  bool living = false;
  std::uint64_t alive_ns = 0;              // CLOCK_MONOTONIC: its last sign of life
  std::uint64_t pause_ns = 0;              // the longest between two of these lately; 0: not known
  std::int64_t began_ns = 0, done_ns = 0;  // wall time: when its reading began and ended
  std::uint64_t records = 0;               // that the log hadn't
  std::uint64_t damaged = 0;               // records, rings and connections
  std::vector<nccl_net_diag::box::ConnSlot> conns;
  std::uint64_t asked_ns = 0;  // CLOCK_MONOTONIC: when NCCL last asked for anything, or got it
  // Likewise: when it last gave the network a request, and a receive; 0: never.
  std::uint64_t posted_ns = 0, posted_receive_ns = 0;
  // By connection that receives: CLOCK_MONOTONIC when something came last.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> came;
};

struct Input {
  log::Job job;
  std::map<std::string, Box> boxes;          // by proc
  std::map<std::string, std::string> files;  // by proc: its log
  // How far each was read, for who reads on: by proc, and by file behind its last whole line
  // (compressed ones are read as a whole).
  std::unordered_map<std::string, Written> written;
  std::unordered_map<std::string, std::uint64_t> places;
  log::Counts counts;
  std::uint64_t duplicates = 0;       // events that were there twice
  std::uint64_t foreign_files = 0;    // in directories: neither logs nor boxes
  std::vector<std::string> others;    // files with lines that are no events: other programs'
  std::vector<std::string> problems;  // files that could not be read, a sentence each
  bool interrupted = false;           // not all was read
};

struct Reading {
  std::function<void(std::size_t done, std::size_t all)> progress = [](auto, auto) {};
  std::function<bool()> stop = [] { return false; };  // asked now and then, on any thread
  // The logs are read on later: what a living process's box has will be in its log then.
  bool on_later = false;
};

// Files, directories (with those below them), patterns such as "logs/*.jsonl", "-" for standard
// input. Throws log::ReadError for one that is named and isn't there. stop: asked now and then.
std::vector<std::string> files_of(
    const std::vector<std::string>& paths,
    const std::function<bool()>& stop = [] { return false; });

bool is_box(const std::string& file);

// Adds what it has and the log hasn't; of a living process only its signs of life, where its log is
// read on later.
void add_box(Input& input, const BoxFile& file, bool on_later);

// Reads them, on all CPUs. What is wrong with one is among the problems, with its name, and the
// others are read: of a file that breaks off what it told until then counts, one for which there is
// no memory, or that tells of more processes than jobs have, is left out.
Input read_input(const std::vector<std::string>& files, const Reading& reading = {});

}  // namespace nnd::report
