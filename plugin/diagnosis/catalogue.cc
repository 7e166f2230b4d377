#include "diagnosis/catalogue.h"

#include "diagnosis/catalogue_addresses.h"
#include "diagnosis/catalogue_completions.h"
#include "diagnosis/catalogue_devices.h"
#include "diagnosis/catalogue_others.h"
#include "diagnosis/catalogue_verbs.h"

namespace nnd::diagnosis {

namespace {

// In the order of the enumeration, by the same list.
constexpr const Explanation* kExplanations[] = {
#define NND_EXPLANATION(name, id, severity, named, reach, title) &catalogue::name,
    NCCL_NET_DIAG_CAUSES(NND_EXPLANATION)
#undef NND_EXPLANATION
};

}  // namespace

const Explanation& explain(nccl_net_diag::Cause cause) noexcept {
  return *kExplanations[static_cast<std::size_t>(cause)];
}

}  // namespace nnd::diagnosis
