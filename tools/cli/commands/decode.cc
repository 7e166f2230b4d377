#include "cli/commands/options.h"
#include "cli/decode/command.h"

namespace nnd::cli {

namespace {

constexpr const char* kDecode =
    "What a process had in its black box: its connections as they were, and its last events.\n\n"
    "A black box lies beside the event log (.nndbox) and outlives a kill -9. The events are those\n"
    "that the log hasn't, as it would have had them; a damaged box is shown as far as it goes.";

}  // namespace

void add_decode(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DecodeOptions>();
  auto* const command = add_command(app, "decode", kDecode, exit_code,
                                    [options](const Calling&) { return decode(*options); });
  command->add_option("BOX", options->boxes, "black boxes");
  command->add_option("--live", options->live, "the box of this process, which is not disturbed")
      ->type_name("PID");
  command->add_flag("--lines", options->lines, "the events alone, as lines of the event log");
}

}  // namespace nnd::cli
