// Completions, events, and the fall of a QP into ERR. Under the engine's Hold or on its thread.
#pragma once

#include <cstdint>

#include "softverbs/verbs/engine.h"

namespace softverbs {

// vendor_err as the HCA's look gives it for a status.
std::uint32_t vendor_error(const Qp& qp, int status);

void push_completion(Engine& engine, Cq& cq, const ibv_wc& wc, Qp& qp, bool send,
                     std::uint64_t released);
void forget_completions(Cq& cq, const Qp& qp);  // a destroyed or reset QP's

// An event about a port, a QP or a CQ: to be read from async_fd.
void raise_port_event(Context& context, int event, int port);
void raise_qp_event(Qp& qp, int event);
void raise_cq_event(Cq& cq, int event);

// QPs and CQs whose events may be read from now on, and no more. Any thread.
void expect_events(const void* object);
void forget_events(const void* object);

void flush_receives(Engine& engine, Qp& qp);
void to_error(Engine& engine, Qp& qp);  // whatever is posted completes with WR_FLUSH_ERR

}  // namespace softverbs
