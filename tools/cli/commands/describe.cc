#include "cli/commands/describe.h"

#include <algorithm>
#include <string_view>

#include "cli/common/scenario.h"
#include "cli/common/version.h"
#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

// CLI11 shows what an option takes as "TEXT:{warn,refuse}".
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return words;
  for (auto at = open + 1; at <= close;) {
    const auto end = std::min(type.find(',', at), close);
    words.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  for (const auto& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) entry.names.push_back("--" + name);
  entry.help = option.get_description();
  if (option.get_items_expected_max() == 0) return entry;  // a flag
  const auto type = option.get_type_name();
  entry.value = option.get_positional() ? option.get_name(true) : type.substr(0, type.find(':'));
  const bool is_file = entry.value.find("FILE") != std::string::npos || entry.value == "DIR" ||
                       entry.value == "PATH" || entry.value == "BOX";
  entry.takes = is_file ? Takes::kFile : Takes::kText;
  entry.value_optional = option.get_items_expected_min() == 0;
  entry.choices = words_of(type);
  entry.preset = option.get_default_str();
  if (option.check_lname("scenario"))
    for (const auto& file : scenarios()) entry.choices.push_back(file.stem());
  if (entry.value == "CAUSE")
    for (const auto& cause : nccl_net_diag::kCauses) entry.choices.emplace_back(cause.id);
  return entry;
}

CommandEntry entry_of(const CLI::App& app) {
  CommandEntry entry;
  entry.name = app.get_name();
  entry.what = app.get_description();
  entry.about = app.get_footer();
  entry.about.erase(0, entry.about.find_first_not_of('\n'));
  for (const auto* option : app.get_options()) entry.options.push_back(entry_of(*option));
  return entry;
}

}  // namespace

CommandLine describe(const CLI::App& app) {
  CommandLine line;
  line.version = tool_version();
  line.program = entry_of(app);
  line.program.name = "nccl-net-diag";
  for (const auto* command : app.get_subcommands({})) line.commands.push_back(entry_of(*command));
  return line;
}

}  // namespace nnd::cli
