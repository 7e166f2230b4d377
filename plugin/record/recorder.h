// The recorder of this process: rings, drain thread, log file, black box. See docs/architecture.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/settings.h"

namespace nnd::record {

class Pack;

// Starts rings, drain thread and files. Called from the plugin's first init in this process; later
// calls do nothing. After a fork the child starts anew when it calls this, and has neither thread
// nor file before. Never fails the caller.
void start(const config::Settings& settings);

// Writes out everything, a summary, closes the log and removes the black box. Called at exit by
// itself.
void stop();

bool running() noexcept;

// Waits until what this process has told so far is written; not for long where it can't be, and
// then it is false. Not for the data path.
bool settle() noexcept;

// What another room adds to the summary: called as it is written, on the drain's thread.
using SummaryPart = void (*)(Pack& fields);
void set_summary_part(SummaryPart part) noexcept;

// Called by the thread that tells of an error, before it waits until that is written: the process
// may not live for long. For the first 64 of a process.
using ErrorHook = void (*)() noexcept;
void set_error_hook(ErrorHook hook) noexcept;

// This process's random identity (event field "proc"), the same for the life of the process; new in
// a forked child.
std::uint64_t proc_id() noexcept;

// Where the log is, or why there is none: for the first NET/DIAG line.
std::string log_place();

// NCCL's logger, as passed to the plugin's init: void(level, flags, file, line, fmt, ...).
using NcclLogger = void (*)(int level, unsigned long flags, const char* file, int line,
                            const char* fmt, ...);
void set_nccl_logger(NcclLogger logger) noexcept;
inline constexpr std::string_view kNcclPrefix = "NET/DIAG";  // how our lines in NCCL's log begin
void nccl_info(std::string_view line);                       // "NET/DIAG <line>" at INFO
void nccl_warn(
    std::string_view line);  // at WARN: only as the last thing before returning an error to NCCL

}  // namespace nnd::record
