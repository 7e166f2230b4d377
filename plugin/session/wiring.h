// The composition root: which room gets what from which other, and when. Everything starts at the
// plugin's first init and not before.
#pragma once

namespace nnd::session {

// Puts net's dependencies in place. When the library is loaded: starts nothing, reads nothing.
void wire();

}  // namespace nnd::session
