// Slots of the protocols LL and LL128. The flag of a step stands in each line beside the data, so
// that a reader needs nothing else to know that a line has arrived: LL has 4 bytes of flag after
// every 4 bytes of data, LL128 8 bytes after 120 (NCCL 2.18.3 to 2.30.7, ncclLLFifoLine and
// NCCL_LL128_LINESIZE of src/include/device.h). The order of the data within a slot of LL128 is our
// own: both ends are played here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "function.h"

namespace softcuda {

// What so much data takes in a slot. LL128: whole units of 16 lines, as a warp writes them.
std::size_t bytes_in_lines(Protocol protocol, std::size_t bytes);

// All lines of bytes_in_lines(), also those without data: the proxy looks at their flags.
void write_lines(Protocol protocol, char* slot, const char* data, std::size_t bytes,
                 std::uint64_t flag);

// Reads on from *done as far as the lines have arrived. True when all have.
bool read_lines(Protocol protocol, const char* slot, char* data, std::size_t bytes,
                std::uint64_t flag, std::size_t* done);

}  // namespace softcuda
