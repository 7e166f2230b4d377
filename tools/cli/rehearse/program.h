// nccl-net-diag rehearse -- PROGRAM: any program that uses NCCL, where no GPU and no HCA need be.
#pragma once

#include "cli/rehearse/command.h"

namespace nnd::cli {

// Throws CallError.
Answer rehearse_program(RehearseOptions& options, const Calling& calling);

}  // namespace nnd::cli
