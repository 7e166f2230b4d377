// Who reads NCCL's bootstrap has the handles of all: it may say hello.
#include <cstdint>

#include "attacker.h"
#include "peers/directory.h"
#include "process.h"
#include "support/catch.h"

namespace peers = nnd::peers;
using nnd::test::all_say;
using nnd::test::Attacker;
using nnd::test::OneWaits;
using nnd::test::Process;
using nnd::test::Word;

TEST_CASE("a stolen handle says no hello for whom the process knows already") {
  OneWaits job;
  Process &late = job.late, &first = job.first;
  REQUIRE(job.is_said());
  const Attacker thief;
  const peers::Key key = peers::new_key();
  for (std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1000}, ~std::uint64_t{0}})
    thief.send(late.door(), Attacker::hello(late.door(), first.door().proc, key, {1}, number));
  CHECK(late.serves(200).behind == first.door().proc);
  CHECK_FALSE(thief.receive());
  CHECK(job.is_said());
}

TEST_CASE("a stolen handle pretends no more processes than there are listeners") {
  Process late(1), first(0);
  const Attacker thief;
  const peers::Key key = peers::new_key();
  std::size_t answers = 0;
  for (std::uint64_t proc = 1; proc <= 3000; ++proc) {
    thief.send(late.door(), Attacker::hello(late.door(), proc, key, {3, 4, 0, ~0u}));
    if (proc % 200 != 0) continue;
    late.serves(20);
    answers += thief.receive_all().size();
  }
  CHECK(answers == 0);
  first.connects(late, 1);
  first.waits_for(late, 1);
  CHECK(all_say({&late, &first}, [&](const Word& said) {
    return said.kind == peers::Kind::kIdle && said.proc == late.door().proc;
  }));
  CHECK(late.serves(50).behind == first.door().proc);
}

TEST_CASE("of 100,000 pretended processes few are kept, and NCCL's handles have room") {
  peers::Directory directory;
  constexpr std::uint32_t kListeners = 100'000;
  peers::Hello hello;
  for (std::uint32_t i = 1; i <= kListeners; ++i) {
    hello.links = {i};
    directory.take_hello(1, i + 1, {{}, 9}, hello, kListeners);
  }
  std::size_t kept = 0;
  directory.for_each([&](std::uint64_t, const peers::Contact&) { ++kept; });
  CHECK(kept == peers::Directory::kMost);
  std::size_t room = 0;
  for (std::uint64_t proc = 1'000'000; proc < 1'100'000; ++proc)
    room += directory.add(proc, {{}, 10}, {}) != nullptr ? 1 : 0;
  CHECK(room == peers::Directory::kMost);
}

TEST_CASE("a process that says another's address takes nothing of it") {
  peers::Directory directory;
  const peers::Address address{{}, 9};
  directory.add(2, address, {});
  peers::Hello hello;
  hello.links = {1};
  REQUIRE(directory.take_hello(1, 3, address, hello, 1) != nullptr);
  CHECK(directory.at(address) == std::vector<std::uint64_t>{2, 3});
  // Where its handle told first nobody else's word counts, and nor does a handle where it has been
  // heard.
  peers::Contact* const contact = directory.find(2);
  directory.came_from(2, *contact, {{}, 10});
  CHECK(contact->address == address);
  directory.came_from(3, *directory.find(3), {{}, 10});
  CHECK(directory.at(address) == std::vector<std::uint64_t>{2});
  CHECK(directory.at({{}, 0}) == std::vector<std::uint64_t>{2, 3});
  REQUIRE(directory.add(3, address, {}) == directory.find(3));
  CHECK(directory.find(3)->address.port == 10);
  CHECK(directory.find(3)->has_handle);
}
