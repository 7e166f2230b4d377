#include "cli/exporter/kept_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/exporter/exposition.h"
#include "cli/exporter/textfile.h"
#include "context/errno_text.h"

namespace nnd::cli {

namespace {

std::string not_written(const std::string& path, int error) {
  return fmt::format("{} can't be written: errno {}", path, context::errno_text(error));
}

}  // namespace

KeptFile::KeptFile(std::string path) : path_(std::move(path)) {
  if (!path_.ends_with(".prom"))
    throw CallError(kWrongCall, "textfile",
                    fmt::format("--textfile {}: node_exporter's textfile collector reads files "
                                "whose names end with .prom",
                                path_),
                    path_);
}

KeptFile::~KeptFile() {
  if (written_) ::unlink(path_.c_str());
}

void KeptFile::write(const Families& families) {
  const int error = replace_file(path_, exposition(families, TextFormat::kPrometheus));
  if (error != 0 && !written_) throw CallError(kNotExamined, "textfile", not_written(path_, error));
  written_ = true;
  if (std::exchange(told_, error) != error)
    print_err(error != 0 ? not_written(path_, error) + "\n" : path_ + " is written again\n");
}

}  // namespace nnd::cli
