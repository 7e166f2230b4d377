#include "diagnosis/bootstrap.h"

#include <cerrno>

#include "support/catch.h"

using namespace nnd::diagnosis;

namespace {

Bootstrap connecting(BootStep step, FarEnd far) {
  Bootstrap seen;
  seen.step = step;
  seen.sec = 10.4;
  seen.target = "10.0.0.11:4711";
  seen.far = far;
  seen.source = "10.0.0.12";
  seen.source_netdev = "eth0";
  return seen;
}

Bootstrap answer(double sec) {
  Bootstrap seen;
  seen.step = BootStep::kAnswer;
  seen.sec = sec;
  seen.root = "10.0.0.11:4711";
  seen.listener = "10.0.0.12:40211";
  seen.netdev = "eth0";
  return seen;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Silence, with both addresses and the interface") {
  Bootstrap seen = connecting(BootStep::kRoot, FarEnd::kSilent);
  seen.retransmits = 3;
  const Diagnosis out = diagnose(seen);
  CHECK(out.cause == Cause::kOobBlocked);
  CHECK(out.sentence ==
        "A communicator is still being made after 10 s: 10.0.0.12 (eth0) gets no answer from "
        "10.0.0.11:4711, where the root listens: 4 SYN sent.");
  CHECK(is_warning(seen));
  CHECK(has(out.remedy, "NCCL_SOCKET_IFNAME"));
}

TEST_CASE("What keeps two addresses apart is said where it was seen, one reason at most") {
  Bootstrap seen = connecting(BootStep::kNext, FarEnd::kRefuses);
  seen.error = ECONNREFUSED;
  seen.attempts = 7;
  CHECK(diagnose(seen).sentence ==
        "A communicator is still being made after 10 s: 10.0.0.12 (eth0) is refused by "
        "10.0.0.11:4711, where the next rank listens: errno 111 (Connection refused), 7 times.");
  seen.source_subnet = "10.0.1.0/24";
  CHECK(has(diagnose(seen).sentence, "; that address is outside 10.0.1.0/24 of eth0."));
  seen.bridge = "docker0";
  CHECK(has(diagnose(seen).sentence,
            "; that address is in the subnet of docker0, which this host has for itself."));
  CHECK_FALSE(has(diagnose(seen).sentence, "outside"));
}

TEST_CASE("A refusal is no fault where the root's address was given in advance") {
  Bootstrap seen = connecting(BootStep::kRoot, FarEnd::kRefuses);
  seen.id_given = true;
  CHECK(diagnose(seen).cause == Cause::kInitStuck);
  CHECK_FALSE(is_warning(seen));
  seen.sec = 31;
  CHECK(is_warning(seen));
  seen.step = BootStep::kNext;
  CHECK(is_blocked(seen));
}

TEST_CASE("Ranks that have not come are no warning for half a minute") {
  CHECK_FALSE(is_warning(answer(10)));
  CHECK(is_warning(answer(30)));
  const Diagnosis out = diagnose(answer(30));
  CHECK(out.cause == Cause::kInitStuck);
  CHECK(has(out.sentence, "not all ranks have come, or the root can't connect to that address"));
  Bootstrap pairs = answer(30);
  pairs.answers_in_pairs = true;
  CHECK(has(diagnose(pairs).sentence, "the rank after this one has not come"));
}

TEST_CASE(
    "Where this rank listens, and by which rule, where that is hardly an address for others") {
  Bootstrap seen = answer(10);
  seen.listener = "172.17.0.2:40211";
  seen.netdev = "docker0";
  seen.confined = "on a bridge that this host has for itself";
  seen.why = "NCCL_SOCKET_IFNAME=docker0";
  seen.source = "10.0.0.12";
  seen.source_netdev = "eth0";
  const Diagnosis out = diagnose(seen);
  CHECK(has(out.sentence,
            "; 172.17.0.2:40211 (docker0) is on a bridge that this host has for itself, and NCCL "
            "took it by its rule: NCCL_SOCKET_IFNAME=docker0; the root itself was reached from "
            "10.0.0.12 (eth0)."));
  CHECK(has(out.remedy, "Set NCCL_SOCKET_IFNAME on every node"));
}

TEST_CASE("Later meetings of ranks are never a warning by their age alone") {
  Bootstrap seen;
  seen.step = BootStep::kReceive;
  seen.sec = 60;
  seen.past = true;
  seen.target = "10.0.0.11:4711";
  CHECK_FALSE(is_warning(seen));
  CHECK(diagnose(seen).sentence ==
        "A communicator waits for another rank after 60 s: nothing comes from another rank, "
        "10.0.0.11:4711.");
}

TEST_CASE("Where ranks have met before, who refuses has ended") {
  Bootstrap seen = connecting(BootStep::kConnect, FarEnd::kRefuses);
  seen.error = ECONNREFUSED;
  CHECK(diagnose(seen).cause == Cause::kOobBlocked);
  seen.past = true;
  CHECK_FALSE(is_blocked(seen));
  CHECK(is_warning(seen));
  CHECK(diagnose(seen).cause == Cause::kOobClosed);
  CHECK(has(diagnose(seen).remedy, "Look at the rank that listened there"));
}

TEST_CASE("A call that failed for good") {
  Bootstrap seen = connecting(BootStep::kRoot, FarEnd::kUnreachable);
  seen.call = "connect";
  seen.error = ECONNABORTED;
  seen.refused = ECONNREFUSED;
  CHECK(has(diagnose(seen).sentence,
            "A communicator can't be made: 10.0.0.12 (eth0) can't reach 10.0.0.11:4711"));
  CHECK(has(diagnose(seen).sentence, "errno 111"));
  Bootstrap socket;
  socket.step = BootStep::kSocket;
  socket.call = "socket";
  socket.error = EMFILE;
  CHECK(diagnose(socket).cause == Cause::kLimNoFile);
  CHECK(diagnose(socket).sentence ==
        "A communicator can't be made: socket failed with errno 24 (Too many open files).");
}

TEST_CASE("Names of the steps are those of the schema") {
  CHECK(step_name(BootStep::kRoot) == "root");
  CHECK(step_name(BootStep::kSocket) == "socket");
  CHECK(far_end_name(FarEnd::kRefuses) == "refused");
}
