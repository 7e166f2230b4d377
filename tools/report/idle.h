// Who asks the network for nothing, by its black box.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "report/picture.h"

namespace nnd::report {

// Since when a process's box shows that all it had asked the network for was done, seconds before
// its last sign of life; unset: it does not.
std::optional<Ns> idle_by_box(const Picture& picture, std::size_t member);

// Of processes of one host that ask for nothing: the one that has not begun what all the others
// have. NCCL posts the receives of a collective as it begins; who posted some after the last
// request of that one is further. Unset: nothing shows it.
std::optional<std::size_t> behind_its_neighbours(const Picture& picture,
                                                 const std::vector<std::size_t>& members);

}  // namespace nnd::report
