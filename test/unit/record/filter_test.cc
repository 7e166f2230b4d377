#include "record/filter.h"

#include "support/catch.h"

using nccl_net_diag::EventId;
using nnd::record::event_bit;
using nnd::record::event_filter;

namespace {

bool written(const char* globs, EventId id) {
  return (event_filter(globs).mask & event_bit(id)) != 0;
}

}  // namespace

TEST_CASE("filter: all but req.* by default") {
  CHECK(written("", EventId::kConnOpen));
  CHECK(written("", EventId::kSummary));
  CHECK_FALSE(written("", EventId::kReqPost));
  CHECK_FALSE(written("", EventId::kReqDone));
}

TEST_CASE("filter: includes, excludes and both") {
  CHECK(written("conn.*", EventId::kConnOpen));
  CHECK_FALSE(written("conn.*", EventId::kQpCreate));
  CHECK(written("req.*", EventId::kReqPost));
  CHECK(written("*", EventId::kReqPost));
  CHECK_FALSE(written("^qp.*", EventId::kQpCreate));
  CHECK(written("^qp.*", EventId::kConnOpen));
  CHECK_FALSE(written("^qp.*", EventId::kReqPost));
  CHECK(written("^conn.open, *.*", EventId::kConnClose));
  CHECK_FALSE(written(" *.* , ^conn.open", EventId::kConnOpen));
  CHECK(written("summary", EventId::kSummary));
  CHECK_FALSE(written("nothing", EventId::kSummary));
}

TEST_CASE("filter: the steps of connections that go well, where events are chosen by name") {
  CHECK_FALSE(event_filter("").steps);
  CHECK_FALSE(event_filter("^mr.*").steps);
  CHECK(event_filter("*").steps);
  CHECK(event_filter("qp.*,^qp.create").steps);
}

TEST_CASE("filter: log.dropped can't be turned off") {
  CHECK(written("^log.*", EventId::kLogDropped));
  CHECK(written("conn.open", EventId::kLogDropped));
}
