// Where each thread of a rank stands, for a rank that hangs.
#pragma once

#include <functional>
#include <string>

namespace softcuda {

// From now on SIGQUIT makes a thread of our own tell the stacks of all others, in one text; the
// process goes on. To be called before other threads are made: the signal stays blocked in them.
// Takes SIGURG, whose default is to be ignored, to interrupt them.
void tell_stacks_on_sigquit(std::function<void(const std::string&)> tell);

}  // namespace softcuda
