#include "record/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nccl_net_diag/black_box.h"
#include "record/box.h"
#include "record/keep.h"
#include "record/recorder.h"

namespace nnd::record {

namespace {

constexpr std::string_view kLogEnding = ".jsonl";

// host.pid.jsonl -> host.pid.nndbox
std::string beside(std::string log) {
  if (log.size() >= kLogEnding.size() && log.ends_with(kLogEnding))
    log.resize(log.size() - kLogEnding.size());
  return log.append(nccl_net_diag::box::kFileEnding);
}

}  // namespace

Files::Files(const config::Settings& settings)
    : fields_(path_fields()),
      log_pattern_(settings.file),
      box_pattern_(settings.blackbox),
      keep_(settings.keep) {
  if (const char* const dir = std::getenv("XDG_RUNTIME_DIR")) runtime_dir_ = dir;
}

void Files::open_log() {
  if (log_pattern_ == "off") {
    place_ = "no event log (NCCL_NET_DIAG_FILE=off)";
    return;
  }
  if (log_pattern_ == "stderr") {
    log_.fd = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    log_.path = "stderr";
    place_ = log_.fd < 0 ? "no event log: stderr is closed" : "event log on stderr";
    return;
  }
  const std::string path = expand_pattern(log_pattern_, fields_);
  log_ = log_pattern_ == config::Settings{}.file ? create_default_file(path, runtime_dir_)
                                                 : create_file(path, false, Place::kChosen);
  if (log_.fd < 0) {
    place_ = "no event log: " + log_.error;
    nccl_info(place_ + "; the job goes on without one");
    return;
  }
  place_ = "event log " + log_.path;
  if (log_.others_can_remove) place_ += " (others can remove it there)";
  struct stat s {};
  regular_ = ::fstat(log_.fd, &s) == 0 && S_ISREG(s.st_mode);
  if (regular_) mark_as_living(log_.fd);
}

void Files::open_box(Box& box) {
  std::string path;
  if (!box_pattern_.empty())
    path = box_pattern_ == "off" ? "" : expand_pattern(box_pattern_, fields_);
  else if (regular_)
    path = beside(log_.path);
  if (path.empty()) return;
  box_file_ = create_file(path, true, Place::kChosen);
  std::string error = box_file_.error;
  if (box_file_.fd >= 0) {
    mark_as_living(box_file_.fd);
    const int failed = box.open(box_file_.fd);
    if (failed == 0) return;
    box_file_.remove();
    box_file_.close();
    error = "can't allocate " + box_file_.path + ": " + std::strerror(failed);
  }
  nccl_info("no black box: " + error + "; last events won't outlive a crash");
}

void Files::sweep_beside() const noexcept {
  if (regular_) sweep(log_.dir_fd, keep_);
  sweep(box_file_.dir_fd, keep_);
}

void Files::close() noexcept {
  log_.close();
  box_file_.close();
}

}  // namespace nnd::record
