#include "record/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "config/launchers.h"
#include "nccl_net_diag/black_box.h"
#include "nccl_net_diag/events.h"
#include "record/box.h"
#include "record/keep.h"
#include "record/recorder.h"

namespace nnd::record {

namespace {

constexpr const char* kLogName = "%h.%p.jsonl";
constexpr const char* kBoxName = "%h.%p.nndbox";

// host.pid.jsonl -> host.pid.nndbox
std::string beside(std::string log, std::string_view ending) {
  if (log.ends_with(kLogEnding)) log.resize(log.size() - kLogEnding.size());
  return log.append(ending);
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
  const std::string path =
      file_in(expand_pattern(log_pattern_, fields_), expand_pattern(kLogName, fields_));
  log_by_default_ = log_pattern_ == config::kDefaultFile;
  log_ = log_by_default_ ? create_default_file(path, false, runtime_dir_)
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

// A box is written to many times a second by each process of a job: by default no network's file
// system has to bear that.
SafeFile Files::create_box() {
  if (!box_pattern_.empty())
    return create_file(
        file_in(expand_pattern(box_pattern_, fields_), expand_pattern(kBoxName, fields_)), true,
        Place::kChosen);
  box_by_default_ = log_by_default_;
  if (is_node_local(log_.dir_fd))
    return create_file(beside(log_.path, nccl_net_diag::box::kFileEnding), true, Place::kChosen);
  box_by_default_ = true;
  return create_default_file(default_place() + '/' + expand_pattern(kBoxName, fields_), true,
                             runtime_dir_);
}

void Files::open_box(Box& box) {
  if (box_pattern_ == "off" || (box_pattern_.empty() && !regular_)) return;
  box_file_ = create_box();
  std::string error = box_file_.error;
  if (box_file_.fd >= 0) {
    mark_as_living(box_file_.fd);
    const int failed = box.open(box_file_.fd);
    if (failed == 0) {
      if (!box.reserved())
        nccl_info("black box " + box_file_.path +
                  ": its file system can't reserve room for it; what it doesn't take once it is "
                  "full is lost with a crash");
      return;
    }
    box_file_.remove();
    box_file_.close();
    error = "can't allocate " + box_file_.path + ": " + std::strerror(failed);
  }
  nccl_info("no black box: " + error + "; last events won't outlive a crash");
}

int Files::open_tail(std::size_t half) noexcept {
  try {
    if (!regular_) return -1;
    tails_[half] = create_file(beside(log_.path, nccl_net_diag::kTailEndings[half]), false,
                               log_by_default_ ? Place::kDefault : Place::kChosen);
    mark_as_living(tails_[half].fd);
    return tails_[half].fd;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

void Files::sweep_default_place() const noexcept {
  try {
    const std::vector<std::string> jobs = config::job_ids();
    if (log_by_default_ && regular_) sweep(log_.dir_fd, keep_, jobs);
    if (box_by_default_) sweep(box_file_.dir_fd, keep_, jobs);
  } catch (const std::bad_alloc&) {  // another process sweeps
  }
}

void Files::close() noexcept {
  log_.close();
  box_file_.close();
  for (SafeFile& tail : tails_) tail.close();
}

}  // namespace nnd::record
