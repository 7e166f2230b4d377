#include "verbs/fields.h"

#include <array>
#include <cstring>

#include "verbs/gid.h"
#include "verbs/quiet.h"

namespace nnd::verbs {

void add_connection(record::Event& event, const context::Connection& conn, std::string_view owner) {
  if (conn.id != 0) {
    event.add("conn", conn.id);
    if (conn.dir != context::Direction::kNone)
      event.add("dir", conn.dir == context::Direction::kSend ? "send" : "recv");
    if (conn.comm != 0) event.hex("comm", conn.comm);
    if (conn.link_listen != 0)
      event.object("link").hex("proc", conn.link_proc).add("listen", conn.link_listen).end();
  }
  if (!owner.empty()) event.add("owner", owner);
}

void add_device(record::Event& event, const DeviceFields& device) {
  event.object("dev").add("name", device.name);
  if (device.port != 0) event.add("port", device.port);
  if (device.gid_index >= 0) event.add("gid_index", device.gid_index);
  if (device.gid != nullptr && !is_zero(*device.gid)) event.add("gid", gid_text(*device.gid));
  if (!device.subnet.empty()) event.add("subnet", device.subnet);
  if (!device.netdev.empty()) event.add("netdev", device.netdev);
  event.end();
}

void add_errno(record::Event& event, int error) {
  if (error != 0) event.add("errno", error);
}

std::string errno_text(int error) {
  std::array<char, 128> text{};
  return std::to_string(error) + " (" + ::strerror_r(error, text.data(), text.size()) + ")";
}

void note_failure(const char* verb, int error) noexcept {
  const ErrnoKeeper keep;
  context::Current& now = context::current();
  now.failed_verb = verb;
  now.failed_errno = error;
}

std::string device_name(const ibv_context* context) {
  return context == nullptr || context->device == nullptr ? "" : context->device->name;
}

}  // namespace nnd::verbs
