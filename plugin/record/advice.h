// Advice to the user: counts causes, and decides which of them become a line of NCCL's logger.
#pragma once

#include <cstdint>
#include <string_view>

namespace nnd::record {

class Pack;

// Counts the cause. True for the first time with this subject (a hash of device and peer): then one
// line goes to NCCL's logger. Any thread, no lock.
bool first_of_cause(std::string_view cause, std::uint64_t subject) noexcept;

// Adds "causes": how often each was seen, and how many lines were held back.
void add_causes(Pack& fields);
// Adds "failures": those that events told of, the first 32, and how many there were.
void add_failures(Pack& fields);
void forget_causes() noexcept;

}  // namespace nnd::record
