// The table of failure modes, entries.toml: what is played of each, and what has to be said of it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace nnd::scoreboard {

using Environment = std::map<std::string, std::string>;

// A healthy world, in which a mode's fault is played.
struct World {
  std::string scenario;  // TOML
  Environment environment;
  std::vector<Environment> of_nodes = {};  // more, by node
  int nodes = 2, gpus = 1;                 // of a node
  std::string job = "collectives";         // see play.h
  std::string nccl;                        // a release; empty: the one under test
  std::vector<std::string> tolerate;       // causes that are told of it, and rightly
};

struct Expected {
  std::string event = {}, cause = {}, severity = "warn";
  std::string device = {};  // "mlx5_0", or several with | between them; empty: none is to blame
  std::string peer = {};    // address of its GID; empty: none is to blame
  std::string remedy = {};  // a part of what to do
  std::string says = {};    // a part of the sentence
};

// What the first paragraph of `report` has to have: regular expressions, and all of it.
struct Headline {
  std::string cause = {}, device = {}, says = {};
  int exit_code = 0;  // -1: either
};

struct Entry {
  std::string id;      // as the catalogue has it
  std::string played;  // for people
  World healthy, faulty;
  std::string policy;  // of the faulty one
  bool stop = false;   // it never ends by itself: until it was told
  Expected expected;
  Headline headline;
  bool by_report() const { return expected.cause.empty() && !headline.cause.empty(); }
  // Where it isn't played: why, and who sees it instead.
  std::string unseen, instead;
  // ... or the test that shows it where no NCCL job can.
  std::string test;
};

// Throws std::runtime_error with file and line for what can't be read.
std::vector<Entry> read_entries(const std::filesystem::path& file);

}  // namespace nnd::scoreboard
