#include "work.h"

#include <utility>

namespace softcuda {

Program WorkReader::read() {
  std::size_t index = 0;
  for (int channel = 0; channel < 64 && program_.refusal.empty(); ++channel)
    if ((arguments_.channel_mask >> channel & 1) != 0) read_channel(channel, index++);
  if (!program_.refusal.empty()) program_.channels.clear();
  return std::move(program_);
}

}  // namespace softcuda
