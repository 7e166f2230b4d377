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

std::vector<std::uint64_t> Directory::at(const Address& address) const {
  std::vector<std::uint64_t> out;
  for (auto one = by_address_.lower_bound({address, 0});
       one != by_address_.end() && one->first.ip == address.ip; ++one) {
    if (address.port != 0 && one->first.port != address.port) break;
    out.push_back(one->second);
  }
  return out;
}

Contact* Directory::add(std::uint64_t proc, const Address& address, const Secret& secret) {
  Contact* contact = find(proc);
  if (contact != nullptr && contact->has_handle) return contact;
  if (handles_ >= kMost) return nullptr;
  ++handles_;
  if (contact == nullptr) {  // else it has been heard, which no handle can be taken for
    contact = &contacts_[proc];
    came_from(proc, *contact, address);
    contact->pinned = true;
  }
  contact->secret = secret;
  contact->has_handle = true;
  return contact;
}

void Directory::came_from(std::uint64_t proc, Contact& contact, const Address& address) {
  if (contact.pinned || contact.address == address) return;
  by_address_.erase({contact.address, proc});
  contact.address = address;
  by_address_.insert({address, proc});
}

bool Directory::is_free(std::uint32_t listen, std::uint32_t newest) const {
  return listen != 0 && listen <= newest && by_listen_.size() < kMost &&
         !by_listen_.contains(listen);
}

// Where both have each other's handle and write at once, the key of the lesser process is theirs.
Contact* Directory::take_hello(std::uint64_t self, std::uint64_t from, const Address& address,
                               const Hello& hello, std::uint32_t newest_listen) {
  Contact* contact = find(from);
  if (contact == nullptr) {
    const bool behind_one =
        std::any_of(hello.links.begin(), hello.links.end(),
                    [&](std::uint32_t listen) { return is_free(listen, newest_listen); });
    if (!behind_one) return nullptr;
    contact = &contacts_[from];
    came_from(from, *contact, address);
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
  for (const std::uint32_t listen : hello.links)
    if (is_free(listen, newest_listen)) {
      by_listen_[listen] = from;
      ++contact->links_heard;
    }
  return contact;
}

std::uint64_t Directory::process_connected_to(std::uint32_t listen) const {
  const auto found = by_listen_.find(listen);
  return found == by_listen_.end() ? 0 : found->second;
}

void Directory::forget() {
  contacts_.clear();
  by_address_.clear();
  by_listen_.clear();
  handles_ = 0;
}

}  // namespace nnd::peers
