#include "report/live_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include "log/parts.h"
#include "report/own_trouble.h"

namespace nnd::report {

namespace {

bool is_living(const Input& input, const std::string& file) {
  for (const auto& [proc, box] : input.boxes)
    if (box.file == file) return box.living;
  return false;
}

}  // namespace

std::map<LiveInput::Id, LiveInput::Found> LiveInput::found_in(
    const std::vector<std::string>& files) {
  std::map<Id, Found> out;
  for (const auto& name : files) {
    struct stat about {};
    if (stat(name.c_str(), &about) != 0) continue;
    out.emplace(Id{about.st_dev, about.st_ino},
                Found{name, static_cast<std::uint64_t>(about.st_size),
                      about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec});
  }
  return out;
}

bool LiveInput::still_there(const std::map<Id, Found>& found) const {
  for (const auto& [id, known] : known_) {
    const auto now = found.find(id);
    // A box goes when its process ends well.
    if (now == found.end() && known.box && known.living) continue;
    if (now == found.end()) return false;
    if (known.box) continue;
    if (now->second.size < known.place && !log::is_tail(now->second.name)) return false;
    if (known.compressed && now->second.changed_ns != known.found.changed_ns) return false;
  }
  return true;
}

void LiveInput::read_all(const std::map<Id, Found>& found, const Reading& reading) {
  std::vector<std::string> names;
  for (const auto& [id, one] : found) names.push_back(one.name);
  Reading all = reading;
  all.on_later = true;
  input_ = read_input(names, all);
  known_.clear();
  for (const auto& [id, one] : found) {
    Known& known = known_[id];
    known.found = one;
    known.box = is_box(one.name);
    known.living = known.box && is_living(input_, one.name);
    const auto place = input_.places.find(one.name);
    known.compressed = !known.box && place == input_.places.end();
    if (place != input_.places.end()) known.place = place->second;
  }
}

// Of a living process it has no more than its signs of life, which are no news.
bool LiveInput::read_box(Known& known) {
  if (!known.living) return false;
  const auto file = read_box_file(known.found.name);
  known.living = file.living;
  add_box(input_, file, true);
  return !file.living;
}

bool LiveInput::read_on(const Id& id, const Found& found) {
  const auto [at, is_new] = known_.try_emplace(id);
  Known& known = at->second;
  if (is_new) {
    known.box = is_box(found.name);
    known.living = known.box;
  }
  const bool same = !is_new && known.found.size == found.size;
  known.found = found;
  if (known.box) return read_box(known);
  if (same) return false;
  const bool tail = log::is_tail(found.name);
  if (tail && found.size < known.place) known.place = 0;  // its turn came again
  bool news = false;
  auto file = is_new ? log::LogFile(found.name) : log::LogFile(found.name, known.place);
  file.read(parser_, [&](const log::Event& event) {
    // A copy of what was read, or a line that a box told before. Those of a tail come later than
    // the log's that are younger.
    Written& written = input_.written[event.proc];
    if (!tail && event.seq < written.next_seq().value_or(0)) return;
    written.add(event);
    input_.job.add(event);
    if (!tail) input_.files.try_emplace(event.proc, found.name);
    news = true;
  });
  known.compressed = file.compressed();
  known.place = file.place();
  return news;
}

bool LiveInput::look(const std::vector<std::string>& files, const Reading& reading) {
  const auto found = found_in(files);
  if (!began_ || !still_there(found)) {
    began_ = true;
    read_all(found, reading);
    return true;
  }
  bool news = false;
  // Boxes last: what leaves one while this reads is in its log then.
  for (const bool boxes : {false, true})
    for (const auto& [id, one] : found) {
      const auto known = known_.find(id);
      if ((known != known_.end() ? known->second.box : is_box(one.name)) != boxes) continue;
      // One that went between two looks is no problem: the next one finds that.
      std::vector<std::string> problems;
      read_alone(one.name, problems,
                 [&, &id = id, &one = one] { news = read_on(id, one) || news; });
      if (!problems.empty() && access(one.name.c_str(), F_OK) == 0)
        input_.problems.push_back(problems.front());
    }
  for (auto at = known_.begin(); at != known_.end();)
    at = found.contains(at->first) ? std::next(at) : known_.erase(at);
  return news;
}

}  // namespace nnd::report
