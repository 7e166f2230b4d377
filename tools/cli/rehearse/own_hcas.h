// Whether this host has HCAs of its own.
#pragma once

namespace nnd::cli {

// Throws CallError where it has none: NCCL would go over TCP.
void require_hca();

}  // namespace nnd::cli
