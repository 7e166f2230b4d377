#include "report/box_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "log/source.h"
#include "record/line.h"

namespace nnd::report {

namespace box = nccl_net_diag::box;

namespace {

constexpr std::string_view kMagic(box::kMagic, sizeof(box::kMagic));

// Of a time and an event: two events of a process at one nanosecond differ in their kind.
std::uint64_t mark(std::uint64_t mono_ns, std::uint64_t event) { return mono_ns * 64 + event; }

// A process holds a lock on its box. Asking for a shared one takes it for an instant, which a
// process that starts now would take for somebody else's: a box that young is a living one's.
bool is_held(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  constexpr time_t kYoungSec = 1;
  struct stat about {};
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const bool young = fstat(fd, &about) == 0 && about.st_size == 0 &&
                     now.tv_sec - about.st_mtim.tv_sec <= kYoungSec;
  const bool held = young || (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK);
  close(fd);
  return held;
}

std::int64_t wall_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string BoxFile::proc() const { return fmt::format("{:#x}", contents.header.proc_id); }

bool starts_box(std::string_view bytes) { return bytes.starts_with(kMagic); }

BoxFile read_box_file(const std::filesystem::path& path) {
  BoxFile out;
  out.path = path;
  out.began_ns = wall_ns();
  const auto too_large = [&] {
    return log::ReadError(path.string() + ": it is larger than any black box");
  };
  const auto source = log::open_source(path);
  std::error_code unknown;  // then it is seen while it is read, as of what is compressed
  if (const auto size = std::filesystem::file_size(path, unknown);
      !unknown && size > log::kLargestBox)
    throw too_large();
  std::string bytes;
  for (std::size_t used = 0;;) {
    bytes.resize(used + (std::size_t{1} << 20));
    const std::size_t some = source->read(bytes.data() + used, bytes.size() - used);
    used += some;
    bytes.resize(used);
    if (used > log::kLargestBox) throw too_large();
    if (some == 0) break;
  }
  out.done_ns = wall_ns();
  out.contents = log::read_box(bytes);
  if (!out.contents.problem.empty())
    throw log::ReadError(path.string() + ": it " + out.contents.problem);
  out.living = is_held(path);
  return out;
}

void Written::add(const log::Event& event) {
  next_seq_ = std::max(next_seq_.value_or(0), event.seq + 1);
  if (event.wall_ns != 0 && event.seq + 1 == *next_seq_)
    clock_ns_ = event.wall_ns - static_cast<std::int64_t>(event.mono_ns);
  if (!event.id || event.seq + kLast < *next_seq_) return;
  const std::uint64_t one = mark(event.mono_ns, static_cast<std::uint64_t>(*event.id));
  if (last_.size() < kKept)
    last_.push_back(one);
  else
    last_[at_++ % kKept] = one;
}

bool Written::has(std::uint64_t mono_ns, std::uint16_t event) const {
  return std::find(last_.begin(), last_.end(), mark(mono_ns, event)) != last_.end();
}

void for_each_line(const BoxFile& file, const Written& written, const LineSink& sink) {
  const box::FileHeader& header = file.contents.header;
  // The wall clock as the log had it last: it may have been set since the process began.
  const std::uint64_t real_ns =
      written.clock_ns() ? header.start_mono_ns + static_cast<std::uint64_t>(*written.clock_ns())
                         : header.start_real_ns;
  const record::LineWriter writer(header.host, header.pid, header.proc_id, header.start_mono_ns,
                                  real_ns);
  std::uint64_t seq = written.next_seq().value_or(header.lines_written);
  std::string line;
  for (const log::BoxRecord& record : file.contents.records) {
    if (written.has(record.header.mono_ns, record.header.event)) continue;
    line.clear();
    if (!writer.write(line, seq, static_cast<nccl_net_diag::EventId>(record.header.event),
                      static_cast<nccl_net_diag::Severity>(record.header.severity),
                      record.header.mono_ns, record.payload))
      continue;
    ++seq;
    sink(line);
  }
}

}  // namespace nnd::report
