// Another profiler, which is called as well (NCCL_NET_DIAG_PROFILER=PLUGIN): what doesn't depend on
// the API's version.
#pragma once

namespace nnd::profiler {

// name: as it names itself; null: there is none. nccls_api: the newest that this NCCL looks for.
void set_other(const char* name, int nccls_api) noexcept;
const char* other_name() noexcept;  // empty: there is none

// Its activation mask, as it may change it at any time.
int* other_mask_place() noexcept;
int other_mask() noexcept;

// Whether NCCL would tell it of this kind of event with such a mask: what it asks for, and all that
// is parent of that.
bool wants(int type, int mask) noexcept;

// Its contexts, by ours.
void keep_other_context(const void* ours, void* theirs) noexcept;
// False: it isn't called for this communicator. Of another process's context nothing is known: it
// gets what NCCL gave.
bool other_context(void* ours, void*& theirs) noexcept;
// False: its finalize is not to be called, since its init has failed, or has given no context,
// which NCCL takes as that from 2.28 on. Gives the context back.
bool drop_other_context(const void* ours, void*& theirs) noexcept;

}  // namespace nnd::profiler
