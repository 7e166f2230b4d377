// Fields that several of this layer's events share.
#pragma once

#include <string_view>

#include "record/event.h"
#include "verbs/qp_table.h"

namespace nnd::verbs {

// conn, dir, link, comm; or owner where there is no connection.
void add_connection(record::Event& event, const context::Connection& conn, std::string_view owner);

// dev {name, port, gid_index, gid, subnet, netdev}: what is known of it.
struct DeviceFields {
  std::string_view name;
  unsigned port = 0;   // 0: unknown
  int gid_index = -1;  // -1: unknown, no GRH
  const ibv_gid* gid = nullptr;
  std::string_view subnet{};
  std::string_view netdev{};
};
void add_device(record::Event& event, const DeviceFields& device);

// errno and its name; nothing for 0.
void add_errno(record::Event& event, int error);

// The verb's own words for a failure: "110 (Connection timed out)".
std::string errno_text(int error);

// Marks the call that NCCL is making as failed by this verb.
void note_failure(const char* verb, int error) noexcept;

std::string device_name(const ibv_context* context);

}  // namespace nnd::verbs
