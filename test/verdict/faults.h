// What goes wrong: planted into a healthy job, with the truth of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verdict/case.h"
#include "verdict/dice.h"

namespace nnd::verdict {

struct Fault {
  std::string name;
  int weight;
  void (*plant)(Case&, Dice&);
};

std::vector<Fault> program_faults();
std::vector<Fault> network_faults();

// The plain job, before anything is planted: where the moments are in it.
struct Program {
  softcuda::Action first, body, last;  // collectives
};
// The case's actions. At its moment the guilty rank does `acts` and nothing after that; guilty: -1
// where no rank acts by itself.
void compose(Case& one, const Program& program, int guilty,
             const std::vector<softcuda::Action>& acts);
Program draw_program(Dice& dice);

}  // namespace nnd::verdict
