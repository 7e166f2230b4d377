// What a pair allows, beside what it got, and which pairs are slow beside their like. Pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/ping/result.h"

namespace nnd::cli {

// Ports as "mlx5_0:1".
std::optional<Allowed> allowed_between(const HostDescription& from, const std::string& from_port,
                                       const HostDescription& to, const std::string& to_port);

// Those that get half of what they allow or less, where another that allows as much comes near it:
// where none does, it is the hosts that are measured, and not a link. Places in `pairs`.
std::vector<std::size_t> slow_pairs(const std::vector<PairResult>& pairs);

// The same in sentences, one for each pair, or for an end that is slow with each of its peers.
std::vector<std::string> slow_sentences(const std::vector<PairResult>& pairs);

// PCIe links that carry less than their ports, and that no pair comes near what it allows.
std::vector<std::string> bound_notes(const std::vector<PairResult>& pairs);

// Both talk, and the first is faster; false where one doesn't.
bool faster(const PairResult& one, const PairResult& other);

// "0.125", "50": three digits.
std::string rough(double gb_per_s);

}  // namespace nnd::cli
