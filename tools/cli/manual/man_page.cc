#include "cli/manual/man_page.h"

#include <fmt/format.h>

#include <string_view>

namespace nnd::cli {

namespace {

// Text as roff prints it: a backslash and a dash are signs of their own, and a dot or quote that
// begins a line would be a request.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

// Paragraphs; a line that is indented stands as it is.
std::string paragraphs(std::string_view text) {
  std::string out;
  bool as_is = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool indented = line.starts_with(' ');
    if (indented != as_is) out += indented ? ".nf\n" : ".fi\n";
    as_is = indented;
    out += line.empty() ? ".PP\n" : roff(line) + "\n";
  }
  return out + (as_is ? ".fi\n" : "");
}

std::string heading(const CommandLine& line, const std::string& page, const std::string& what) {
  return fmt::format(".TH {} 1 \"\" \"nccl\\-net\\-diag {}\"\n.SH NAME\n{} \\- {}\n", roff(page),
                     roff(line.version), roff(page), roff(what));
}

std::string name_of(const OptionEntry& option) {
  std::string names;
  for (const auto& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  if (option.takes == Takes::kNothing) return names;
  const auto value = fmt::format("\\fI{}\\fR", roff(option.value));
  if (names.empty()) return value;
  return names + (option.value_optional ? " [" + value + "]" : " " + value);
}

std::string options(const CommandEntry& command) {
  std::string out = ".SH OPTIONS\n";
  for (const auto& option : command.options) {
    out += ".TP\n" + name_of(option) + "\n" + roff(option.help);
    if (!option.preset.empty()) out += fmt::format(" (default: {})", roff(option.preset));
    out += "\n";
  }
  return out;
}

// docs/tool.md has the same table.
constexpr std::string_view kExitStatus = R"(.SH EXIT STATUS
.TP
.B 0
what is wanted works; also where the policy kept a bad HCA out
.TP
.B 1
something is broken, or there is less than was asked for
.TP
.B 2
the call or a file was wrong
.TP
.B 3
it could not be examined, or ended early
)";

}  // namespace

std::string man_page(const CommandLine& line) {
  auto out = heading(line, line.program.name, line.program.what);
  out += ".SH SYNOPSIS\n.B nccl\\-net\\-diag\n.I SUBCOMMAND\n[OPTIONS]\n.SH SUBCOMMANDS\n";
  for (const auto& command : line.commands)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name), roff(command.what));
  out += options(line.program) + std::string(kExitStatus) + ".SH SEE ALSO\n";
  std::string also;
  for (const auto& command : line.commands)
    also += fmt::format("{}.BR nccl\\-net\\-diag\\-{} (1)", also.empty() ? "" : ",\n",
                        roff(command.name));
  return out + also + "\n";
}

std::string man_page(const CommandLine& line, const CommandEntry& command) {
  auto out = heading(line, line.program.name + "-" + command.name, command.what);
  out += fmt::format(".SH SYNOPSIS\n\\fBnccl\\-net\\-diag {}\\fR [OPTIONS]", roff(command.name));
  for (const auto& option : command.options)
    if (option.positional()) out += " [" + name_of(option) + "]";
  out += "\n";
  if (!command.about.empty()) out += ".SH DESCRIPTION\n" + paragraphs(command.about);
  return out + options(command) + std::string(kExitStatus) +
         ".SH SEE ALSO\n.BR nccl\\-net\\-diag (1)\n";
}

}  // namespace nnd::cli
