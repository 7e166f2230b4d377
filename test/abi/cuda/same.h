// How our declarations are held against an official header's: what doesn't agree doesn't compile.
#pragma once

#include <cstddef>

// A number of ours, the driver's name for it.
#define SAME(ours, theirs) \
  static_assert(static_cast<long>(softcuda::ours) == static_cast<long>(theirs), #theirs)
// A member at the same place; what follows it in a larger structure isn't ours to know.
#define BEGINS(ours, member, theirs, name) \
  static_assert(offsetof(softcuda::ours, member) == offsetof(theirs, name), #theirs "::" #name)
#define AT(ours, member, theirs, name)                                        \
  static_assert(offsetof(softcuda::ours, member) == offsetof(theirs, name) && \
                    sizeof(softcuda::ours::member) == sizeof(theirs::name),   \
                #theirs "::" #name)
