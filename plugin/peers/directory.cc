#include "peers/directory.h"

#include <algorithm>

namespace nnd::peers {

bool Window::take(std::uint64_t number) noexcept {
  if (number == 0) return false;
  if (number > newest_) {
    const std::uint64_t by = number - newest_;
    seen_ = by >= 64 ? 0 : seen_ << by;
    seen_ |= 1;
    newest_ = number;
    return true;
  }
  const std::uint64_t back = newest_ - number;
  if (back >= 64 || (seen_ >> back & 1) != 0) return false;
  seen_ |= std::uint64_t{1} << back;
  return true;
}

Contact* Directory::find(std::uint64_t proc) {
  const auto found = contacts_.find(proc);
  return found == contacts_.end() ? nullptr : &found->second;
}

Contact* Directory::find(const Address& address, std::uint64_t& proc) {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  proc = found->second;
  return find(proc);
}

Contact* Directory::add(std::uint64_t proc, const Address& address, const Secret& secret) {
  Contact* contact = find(proc);
  if (contact == nullptr) {
    if (contacts_.size() >= kMost) return nullptr;
    contact = &contacts_[proc];
    contact->address = address;
    by_address_[address] = proc;
  }
  if (!contact->has_handle) {
    contact->secret = secret;
    contact->has_handle = true;
  }
  return contact;
}

// Where both have each other's handle and write at once, the key of the lesser process is theirs.
Contact* Directory::take_hello(std::uint64_t self, std::uint64_t from, const Address& address,
                               const Hello& hello) {
  Contact* contact = find(from);
  const bool is_new = contact == nullptr;
  if (is_new) {
    if (contacts_.size() >= kMost) return nullptr;
    contact = &contacts_[from];
    contact->address = address;
    by_address_[address] = from;
  }
  const bool has_key = contact->key_ours || contact->agreed;
  if (has_key && contact->key != hello.key) {
    // Whoever has the handle may have made this one.
    if (!contact->key_ours || contact->agreed || self < from) return nullptr;
  }
  if (!has_key || contact->key != hello.key) {
    contact->key = hello.key;
    contact->key_ours = false;
  }
  contact->agreed = true;
  for (const std::uint32_t listen : hello.links) {
    if (by_listen_.size() >= kMost) break;
    if (by_listen_.try_emplace(listen, from).second) ++contact->links_heard;
  }
  return contact;
}

std::uint64_t Directory::behind(std::uint32_t listen) const {
  const auto found = by_listen_.find(listen);
  return found == by_listen_.end() ? 0 : found->second;
}

void Directory::forget() {
  contacts_.clear();
  by_address_.clear();
  by_listen_.clear();
}

}  // namespace nnd::peers
