#include "pat_messages.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace softcuda {
namespace {

// Distances that one series of messages carries: first, first + stride, ...
struct Series {
  int first, stride, length;
};

void add_messages(const Series& series, int dimension, int nranks, int most, bool strided,
                  std::vector<PatMessage>& out) {
  const int groups = std::max(1, series.length / most);
  const auto begin = out.size();
  for (int i = 0; i < series.length; ++i) {
    const int distance = series.first + i * series.stride;
    if (distance >= nranks) break;
    const auto group = static_cast<std::size_t>(strided ? i % groups : i / most);
    if (out.size() == begin + group) out.push_back({dimension, {}});
    out[begin + group].distances.push_back(distance);
  }
}

}  // namespace

std::vector<PatMessage> pat_messages(int nranks, ssize_t chunk_bytes, ssize_t bytes, bool strided) {
  constexpr int kDepth = 8;  // NCCL_STEPS
  const int power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(nranks)));
  int most = 1;  // ranks whose data share a message
  while (chunk_bytes / (bytes * most) >= 2 && most < nranks / 2) most *= 2;
  int series = most;  // messages of these many ranks' data follow each other on a connection
  for (int depth = kDepth; depth > 1 && series < nranks / 2; depth /= 2) series *= 2;
  const int stride = power / series;

  std::vector<PatMessage> messages;
  for (int dimension = 0, step = 1; step < nranks; ++dimension, step *= 2) {
    if (step >= stride)
      add_messages({step, 2 * step, power / (2 * step)}, dimension, nranks, most, strided,
                   messages);
    else
      for (int first = step; first < stride; first += 2 * step)
        add_messages({first, stride, series}, dimension, nranks, most, strided, messages);
  }
  return messages;
}

}  // namespace softcuda
