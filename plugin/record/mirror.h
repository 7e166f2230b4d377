// What the black box and the summary say of connections and communicators. The drain's thread
// alone.
#pragma once

namespace nnd::record {

class Box;
class Pack;

// Copies the table of connections into the box, which grows with it.
void mirror_connections(Box& box) noexcept;
// The communicators, and the last that each was given.
void mirror_communicators(Box& box) noexcept;
// Whom the process waits for in the end.
void mirror_awaited(Box& box) noexcept;
void mirror_latecomer(Box& box) noexcept;
// Adds "traffic": sums over all connections of this process, closed ones included.
void add_traffic(Pack& fields);

}  // namespace nnd::record
