#include "scoreboard/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace nnd::scoreboard {

namespace {

constexpr const char* kIntro =
    R"(# Scoreboard

Each failure mode of the field, played in a real NCCL job (a stock libnccl 2.28.9, two ranks on two nodes unless it says otherwise,
over the emulated fabric), and what one process's log named: cause, device and peer, where there is one to blame, with what to do.
*report*: whether the first paragraph that `report` prints of all logs had it, as a user reads it: cause, HCA, exit code.
The same job without the fault said nothing at `warn` or `error`. `ctest -L scoreboard` plays them all again, and fails where a mode is no
longer named or a healthy job warns. The page is made by it: `NND_SCOREBOARD_WRITE=1 build/test/scoreboard/scoreboard "[play]"`.

*ms*: from the moment when the fault was met to the event, as measured when the page was made (two cores, other work on them); *start*: it was
there from the start, and is told at NCCL's init. *NCCL's first warning*: what NCCL itself had printed at `NCCL_DEBUG=INFO` until the job ended, or
was ended because it would hang; *its ms*: by NCCL's own clock, from the fault too, or with a sign from our event where the fault was there from
the start. *RAS*: what NCCL's RAS found when it was asked once (`verbose status`): before a job that would hang was ended, else when NCCL
had failed in a rank, whose process then stayed for a second, or when the collectives were done. It tells of communicators, not of
the network: an asynchronous error is one there; a call that failed (QP-110), and a wait (HANG-DATA), aren't. `MISMATCH` is of the played job,
where rank 1 leaves out a collective for the time.

The diagnostics of NCCL 2.31 and newer, tried by hand under 2.32.3 with HANG-CONNECT, HANG-DATA and SUB-RAIL: `NCCL_RUN_RAS_DIAGNOSTICS=1` at
init, or `diagnostics` on RAS's port in the broken job, compares GPUs, drivers, ECC, `NCCL_*` variables, IOMMU, Xid events and path types, and
said the same with each fault as without it. `NCCL_RUN_DIAGNOSTICS=1` runs perftest's `ib_write_bw` at init on the HCAs that
NCCL chose (2.32; beside this plugin too). Whether it sees a wrong rail could not be tried: an emulated HCA can't carry that tool, which was missing
("required external tool missing").

)";

std::string cell(std::string text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out.empty() ? "–" : out;
}

std::string ms_text(const Row& row) {
  if (row.from_start) return "start";
  return row.ms < 0 ? "" : fmt::format("{:.0f}", row.ms);
}

std::string nccl_ms_text(const Row& row) {
  if (!row.nccl_ms) return "";
  const long ms = std::lround(*row.nccl_ms);
  return row.from_start ? fmt::format("{:+}", ms) : fmt::format("{}", ms);
}

std::string counts(const std::vector<Row>& rows) {
  const auto with = [&](const char* result) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const Row& row) { return row.result.starts_with(result); });
  };
  std::vector<double> times;
  for (const Row& row : rows)
    if (row.ms >= 0) times.push_back(row.ms);
  std::sort(times.begin(), times.end());
  return fmt::format(
      "{} modes: {} named, {} partly, {} not named, {} not seen from a process.{}\n\n", rows.size(),
      with("named"), with("partly"), with("not named"), with("not seen"),
      times.empty()
          ? ""
          : fmt::format(" Median from fault to event: {:.0f} ms.", times[times.size() / 2]));
}

}  // namespace

std::string page(const std::vector<Row>& rows) {
  std::string out = kIntro + counts(rows);
  out +=
      "| mode | played | result | cause, device, peer | report | ms | NCCL's first warning | its "
      "ms | RAS "
      "|\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Row& row : rows)
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", row.id, cell(row.played),
                       cell(row.result), cell(row.says), cell(row.report), ms_text(row),
                       cell(row.nccl), nccl_ms_text(row), cell(row.ras));
  return out;
}

std::map<std::string, Row> read_page(const std::string& text) {
  std::map<std::string, Row> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::size_t from = 2;
    for (std::size_t end; (end = line.find(" | ", from)) != std::string::npos; from = end + 3)
      cells.push_back(line.substr(from, end - from));
    if (!line.starts_with("| ") || cells.size() < 5 || cells[0] == "mode" || cells[0] == "---")
      continue;
    Row row;
    row.id = cells[0];
    row.result = cells[2];
    row.says = cells[3] == "–" ? "" : cells[3];
    row.report = cells[4] == "–" ? "" : cells[4];
    out[row.id] = row;
  }
  return out;
}

}  // namespace nnd::scoreboard
