// Examining this node as the plugin does when a job starts: the same facts, the same rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/check/inside.h"
#include "cli/check/root.h"
#include "config/settings.h"
#include "facts/node.h"
#include "policy/lint.h"
#include "policy/locked.h"
#include "policy/verdict.h"
#include "verbs/survey.h"

namespace nnd::cli {

struct CheckInput {
  std::string policy;                            // file; empty: the one that a job would take
  std::string standing = policy::kStandingFile;  // empty: this machine has no say in it
  std::optional<config::Mode> mode;              // none: the one that a job would take
  int nccl_version = 0;                          // NCCL's own code; 0: the newest rules
  std::string host;                              // the name that the policy's overrides are for
  bool inside = false;  // look at what else NCCL needs of this node, where sysfs is its own
};

struct Checked {
  std::string host;
  config::Settings settings;
  verbs::Survey survey;
  policy::Loaded policy;
  facts::Node node;
  policy::Judgement judgement;
  std::vector<policy::Lint> lint;
  std::optional<RootTry> root;  // where one was given
  std::optional<Inside> inside;
  double took_ms = 0;
};

// Reads the process's environment. Throws CallError: the policy file is wrong, or it can't be told
// what a job would find here.
Checked examine(const CheckInput& input);

}  // namespace nnd::cli
