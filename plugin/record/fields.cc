#include "record/fields.h"

namespace nnd::record {

namespace {

void add_text(Event& event, Key key, std::string_view text) {
  if (!text.empty()) event.add(key, text);
}

void add_gid(Event& event, const context::Gid& gid, std::string_view text) {
  if (!text.empty())
    event.add("gid", text);
  else if (!context::gid_zero(gid))
    event.add("gid", context::gid_text(gid));
}

void add_process(Pack& fields, const state::Who& who, const state::Doing& doing) {
  fields.hex("proc", who.proc);
  if (who.rank >= 0) fields.add_signed("rank", who.rank);
  if (!who.host.empty()) fields.add("host", std::string_view(who.host));
  if (who.pid != 0) fields.add_unsigned("pid", who.pid);
  if (doing.func.empty()) return;
  fields.open("task", false);
  fields.add("kind", std::string_view(doing.func));
  fields.add_unsigned("ordinal", doing.ordinal);
  if (doing.number >= 0) fields.add_signed("seq", doing.number);
  if (doing.bytes != 0) fields.add_unsigned("bytes", doing.bytes);
  fields.end();
}

}  // namespace

void add_device(Event& event, const DeviceFields& device) {
  event.object("dev");
  if (device.index >= 0) event.add("index", device.index);
  add_text(event, "name", device.name);
  if (device.port != 0) event.add("port", device.port);
  add_text(event, "pci", device.pci);
  if (device.numa >= 0) event.add("numa", device.numa);
  add_text(event, "link_layer", device.link_layer);
  if (device.speed_mbps >= 0) event.add("speed_mbps", device.speed_mbps);
  if (device.mtu != 0) event.add("mtu", device.mtu);
  if (device.gid_index >= 0) event.add("gid_index", device.gid_index);
  add_gid(event, device.gid, device.gid_text);
  add_text(event, "subnet", device.subnet);
  add_text(event, "netdev", device.netdev);
  event.end();
}

void add_peer(Event& event, const PeerFields& peer) {
  if (peer.proc == 0 && peer.rank < 0 && context::gid_zero(peer.gid)) return;
  event.object("peer");
  if (peer.proc != 0) event.hex("proc", peer.proc);
  if (peer.rank >= 0) event.add("rank", peer.rank);
  add_gid(event, peer.gid, peer.gid_text);
  add_text(event, "subnet", peer.subnet);
  event.end();
}

void add_connection(Event& event, const state::Identity& connection, std::string_view owner) {
  if (connection.comm != 0) event.hex("comm", connection.comm);
  if (connection.id != 0) event.add("conn", connection.id);
  if (connection.dir != state::Direction::kNone)
    event.add("dir", connection.dir == state::Direction::kSend ? "send" : "recv");
  if (connection.link_listen != 0)
    event.object("link")
        .hex("proc", connection.link_proc)
        .add("listen", connection.link_listen)
        .end();
  add_text(event, "owner", owner);
}

void add_labels(Event& event, const state::Identity& connection, const state::Labels& labels) {
  if (labels.how == state::LabelOrigin::kNot) return;
  if (connection.comm == 0 && labels.comm != 0) event.hex("comm", labels.comm);
  if (labels.rank >= 0) event.add("rank", labels.rank);
  event.add("channel", labels.channel);
  if (labels.purpose != state::Purpose::kUnknown)
    event.add("purpose",
              labels.purpose == state::Purpose::kTransfer ? "send-receive" : "collective");
  event.add("how", labels.how == state::LabelOrigin::kExact ? "exact" : "joined");
}

void add_awaited(Pack& fields, const state::Awaited& awaited) {
  if (!awaited.known()) return;
  fields.open("awaited", false);
  fields.add("kind", diagnosis::root_name(awaited.kind));
  add_process(fields, awaited.who, awaited.doing);
  fields.add("age_us", awaited.age_sec() * 1e6);
  fields.add_unsigned("hops", awaited.hops);
  if (!awaited.place.empty()) fields.add("place", std::string_view(awaited.place));
  if (awaited.other.known()) {
    fields.open("other", false);
    add_process(fields, awaited.other, awaited.other_doing);
    fields.end();
  }
  fields.end();
}

void add_latecomer(Pack& fields, const state::Latecomer& late) {
  if (!late.known()) return;
  fields.open("latecomer", false);
  fields.hex("proc", late.who.proc);
  if (late.who.rank >= 0) fields.add_signed("rank", late.who.rank);
  if (!late.who.host.empty()) fields.add("host", std::string_view(late.who.host));
  if (late.who.pid != 0) fields.add_unsigned("pid", late.who.pid);
  fields.add_unsigned("times", late.times);
  fields.add_unsigned("of", late.of);
  fields.add_unsigned("waited_us", late.us);
  fields.end();
}

void add_errno(Event& event, int error) {
  if (error != 0) event.add("errno", error);
}

}  // namespace nnd::record
