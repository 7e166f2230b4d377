// What a file of another program says, as a part of a sentence.
#pragma once

#include <string>

#include "foreign/fact.h"
#include "report/others.h"

namespace nnd::cli {

std::string id_of_cause(const foreign::Fact& fact);      // empty: it has none
std::string writer_text(const foreign::Writer& writer);  // "rank 3 (node1 pid 912)"
std::string device_text(const foreign::Fact& fact);  // "mlx5_0:1 of node1"; empty: none is named
std::string call_text(const foreign::FlightCall& call);  // "all_reduce #12 ([65536] Float)"
std::string ends_text(const foreign::Fact& fact);        // ", from fe80::1 to ::ffff:10.0.0.2"
std::string what_text(const foreign::Fact& fact);

const char* source_of(const report::Flight& flight);
std::string flight_text(const report::Flight& flight);  // what a job of PyTorch's waits for

// Of processes that ended, and why.
std::string killed_text(const report::ForeignFindings& others);
std::string raised_text(const report::ForeignFindings& others);
std::string ended_text(const report::ForeignFindings& others);
std::string cancelled_text(const report::ForeignFindings& others);
std::string ended_remedy(const foreign::Fact& ended);

}  // namespace nnd::cli
