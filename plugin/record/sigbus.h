// Survives a mapped file that somebody truncates, or whose disk fails: an access then raises
// SIGBUS. For addresses in the watched range the handler maps anonymous memory over the page and
// goes on; for all others it does what would have happened without it. The handler is in place only
// while something is watched.
#pragma once

#include <cstddef>

namespace nnd::record::sigbus {

// One range at a time; false when one is watched already or the handler can't be installed.
bool watch(void* base, std::size_t size) noexcept;
void unwatch() noexcept;
// Pages replaced since watch().
unsigned replaced_pages() noexcept;

}  // namespace nnd::record::sigbus
