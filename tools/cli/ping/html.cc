#include "cli/ping/html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/common/exit_code.h"
#include "cli/common/html_text.h"
#include "cli/common/markup.h"
#include "cli/common/plain_page.h"
#include "cli/common/text_table.h"
#include "cli/ping/allowed.h"
#include "cli/ping/html_grid.h"
#include "cli/ping/text.h"

namespace nnd::cli {

namespace {

constexpr std::string_view kStyle = R"(
h3 { font-size: 1rem; margin-bottom: .3rem; }
table { font-variant-numeric: tabular-nums; }
th, .grid td, .pairs td { white-space: nowrap; }
.grid td { text-align: right; min-width: 3rem; }
.legend span { padding: .1rem .5rem; margin-right: .3rem; white-space: nowrap; }
.step0 { background: #1a7f3733; } .step1 { background: #b0b00055; } .step2 { background: #e0900077; } .step3 { background: #e05a00aa; }
.apart { background: #88888822; color: GrayText; } .refused { background: #8250df44; }
.wrong { background: #cf222e; color: #fff; font-weight: 700; }
.rail { outline: 2px solid CanvasText; outline-offset: -2px; font-weight: 600; }
li { margin-bottom: .6rem; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  li, pre, .grid { break-inside: avoid; } h2, h3, .legend { break-after: avoid; }
}
)";
std::string verdict_part(const PingResult& result, const PageOrigin& origin) {
  auto out = begin_page({"ping", kStyle, result.text, result.exit_code == kFine});
  for (const auto* sentences : {&result.broken, &result.slow})
    for (const auto& one : *sentences) out += bad_line(one);
  for (const auto& note : result.notes) out += "<p>" + html_text(note) + "</p>\n";
  std::vector<std::string> hosts;
  for (const auto& host : result.hosts)
    hosts.push_back(fmt::format("{} NCCL {}", host.host, or_dash(host.nccl)));
  return out + page_about(origin, fmt::format("{}", fmt::join(hosts, "; ")));
}

// What is true of many pairs is said once, with the sentence of the first.
std::string causes_part(const std::vector<PairResult>& pairs) {
  constexpr std::size_t kNamed = 16;
  std::string said;
  for (const auto& group : ping_groups(pairs)) {
    const auto& first = *group.pairs.front();
    said += fmt::format("<li><b>{}</b>: {} pair{}", html_text(group.what), group.pairs.size(),
                        group.pairs.size() == 1 ? "" : "s");
    if (first.told)
      for (const auto& text : {first.told->msg, first.told->fix})
        if (!text.empty()) said += "<br>" + html_text(text);
    if (!first.nccl_warning.empty()) said += "<br>NCCL: " + html_text(first.nccl_warning);
    said += fmt::format("<br><span class=\"about\">{}</span></li>\n",
                        html_text(names_of(group, kNamed)));
  }
  return said.empty() ? said : "<h2>Causes</h2>\n<ul>\n" + said + "</ul>\n";
}

std::string pairs_part(const std::vector<PairResult>& pairs) {
  std::string rows;
  for (const auto& pair : pairs) {
    std::string speed, share;
    for (const auto& one : pair.bandwidth) {
      speed += fmt::format("{}{}: {:.2f} / {:.2f}", speed.empty() ? "" : ", ", size_text(one.size),
                           one.there_gb_per_s, one.back_gb_per_s);
      share += (share.empty() ? "" : ", ") + share_text(pair, one);
    }
    const auto latency = [&](double Latency::*figure) {
      return rounded(pair.latency ? std::optional((*pair.latency).*figure) : std::nullopt);
    };
    rows += markup_row({pair.from.port_name(), pair.to.port_name(), text_of(pair.state),
                        or_dash(pair.error_name()), or_dash(pair.told ? pair.told->cause : ""),
                        or_dash(pair.path_mtu), rounded(pair.connect_ms), latency(&Latency::p50_us),
                        latency(&Latency::p99_us), or_dash(speed),
                        or_dash(pair.allowed ? rough(pair.allowed->gb_per_s) : ""), or_dash(share),
                        pair.policy()});
  }
  return "<h2>Pairs</h2>\n" +
         markup_table({"from", "to", "state", "errno", "cause", "MTU", "connect ms", "p50 us",
                       "p99 us", "GB/s there / back", "allowed", "of it", "policy"},
                      rows);
}

std::string host_part(const HostDescription& host) {
  std::string rows;
  for (const auto& port : host.ports) {
    auto why = port.reasons;
    why.insert(why.end(), port.rules.begin(), port.rules.end());
    rows += markup_row({port.name(), or_dash(port.netdev), or_dash(port.mtu),
                        or_dash(port.gid_index), or_dash(port.gid), or_dash(port.subnet),
                        port.verdict, fmt::format("{}", fmt::join(why, ", "))});
  }
  auto out = fmt::format("<h2>{}</h2>\n", html_text(host.host));
  if (!host.problem.empty()) out += bad_line(host.problem);
  out +=
      markup_table({"HCA", "netdev", "MTU", "GID index", "GID", "subnet", "verdict", "why"}, rows);
  for (const auto& verdict : host.verdicts)
    out += fmt::format("<p>{} {} [{}, {}]<br>{}</p>\n", html_text(verdict.decision),
                       html_text(verdict.fact), html_text(verdict.rule), html_text(verdict.cause),
                       html_text(verdict.remedy));
  std::string proposal;
  for (const auto& line : host.proposal) proposal += html_text(line) + "\n";
  return proposal.empty() ? out : out + "<pre>" + proposal + "</pre>\n";
}

}  // namespace

std::string render_ping_html(const PingResult& result, const PageOrigin& origin) {
  auto out = verdict_part(result, origin) + ping_grids_html(result.pairs) +
             causes_part(result.pairs) + pairs_part(result.pairs);
  for (const auto& host : result.hosts) out += host_part(host);
  return out + end_page();
}

}  // namespace nnd::cli
