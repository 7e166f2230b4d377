// NCCL's own socket calls, by which its ranks find each other: seen in NCCL's image alone, through
// its import slots, and passed on unchanged. What they come to is left in state/bootstrap.h.
#pragma once

namespace nnd::oob {

// Once for each image; doing it again changes nothing. address: any within NCCL's image. Where it
// can't be done, nothing is seen of the bootstrap, and the job runs on.
void install(const void* address) noexcept;

}  // namespace nnd::oob
