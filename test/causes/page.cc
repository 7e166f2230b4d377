// docs/causes.md, and the lists of causes and events in the event log's schema, from their tables:
// causes_page --check|--write SOURCE_DIR. --check exits with 1 where a file is not what it should
// be.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>

#include "diagnosis/catalogue.h"
#include "nccl_net_diag/events.h"

namespace {

using nccl_net_diag::CauseEntry;
using nccl_net_diag::kCauses;
using nccl_net_diag::Named;
using nnd::diagnosis::Explanation;

constexpr std::string_view kIntro =
    R"(# Causes

What the ids in the field `cause` of an event mean: which fault it is, how it is recognised here, what to do, and a line of a
log (shortened) that names it. An id stays what it is for good; new ones may be added. The same texts are in the library, and
this page is made from them: `causes_page --write` after a change of the table (`include/nccl_net_diag/causes.h`,
`plugin/diagnosis/catalogue_*.h`).

`Reach` says whose fault it can be by the cause alone: this process, its HCA, port or settings (local), the other end (peer), either end or
what lies between (pair), the node, what the processes of the job don't have in common (job); an echo only says that something else has failed.
Open: the cause doesn't tell.

All events of one failure have one `cause` and one number, `failure`; `summary` lists them.

)";

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string section(const CauseEntry& entry) {
  const Explanation& about = nnd::diagnosis::explain(entry.cause);
  std::string out = "## " + std::string(entry.id) + "\n\n**" + std::string(entry.title) + "**";
  if (entry.named == Named::kLater) out += " (not named by an event yet)";
  if (entry.named == Named::kElsewhere) out += " (no event here names it)";
  out += ". " + std::string(about.means) + "\n\n";
  out += "*Recognised by:* " + std::string(about.recognised) + "\n\n";
  out += "*What to do:* " + std::string(about.remedy) + "\n";
  if (!about.example.empty())
    out += "\n```json\n{\"ev\":" + quoted(nccl_net_diag::event_name(about.event)) +
           ",\"cause\":" + quoted(entry.id) + ",\"msg\":" + quoted(about.example) + "}\n```\n";
  return out;
}

std::string page() {
  std::string out(kIntro);
  out += "| id | reach | what |\n| --- | --- | --- |\n";
  for (const CauseEntry& entry : kCauses) {
    std::string anchor(entry.id);
    for (char& c : anchor) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    out += "| [" + std::string(entry.id) + "](#" + anchor + ") | " +
           std::string(nccl_net_diag::reach_name(entry.reach)) + " | " + std::string(entry.title) +
           " |\n";
  }
  for (const CauseEntry& entry : kCauses) out += "\n" + section(entry);
  return out;
}

// The line of that property, with these values.
std::string with_line(const std::string& before, const std::string& property,
                      const std::string& opening, const std::string& values) {
  const std::string line =
      "    \"" + property + "\": {" + opening + "\"enum\": [" + values + "]},\n";
  return std::regex_replace(before, std::regex("    \"" + property + "\": \\{[^\n]*\\},\n"), line,
                            std::regex_constants::format_first_only);
}

std::string schema(const std::string& before) {
  std::string ids, events;
  for (const CauseEntry& entry : kCauses) ids += (ids.empty() ? "" : ", ") + quoted(entry.id);
  for (const std::string_view event : nccl_net_diag::kEventNames)
    events += (events.empty() ? "" : ", ") + quoted(event);
  return with_line(with_line(before, "ev", "", events), "cause",
                   R"("description": "docs/causes.md says what each means", )", ids);
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool settle(const std::string& path, const std::string& wanted, bool write) {
  if (read(path) == wanted) return true;
  if (!write) {
    std::fprintf(stderr, "%s is not what the table of causes says: causes_page --write\n",
                 path.c_str());
    return false;
  }
  std::ofstream(path, std::ios::binary) << wanted;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--write") {
    std::fprintf(stderr, "causes_page --check|--write SOURCE_DIR\n");
    return 2;
  }
  const std::string root = argv[2];
  const bool write = mode == "--write";
  const std::string log_schema = root + "/include/nccl_net_diag/event.schema.json";
  const bool page_fits = settle(root + "/docs/causes.md", page(), write);
  return settle(log_schema, schema(read(log_schema)), write) && page_fits ? 0 : 1;
}
