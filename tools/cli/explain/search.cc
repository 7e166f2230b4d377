#include "cli/explain/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include "cli/explain/letters.h"
#include "cli/explain/numbers.h"
#include "cli/explain/sayings.h"
#include "config/nearest.h"
#include "diagnosis/catalogue.h"

namespace nnd::cli {

using nccl_net_diag::Cause;
using nccl_net_diag::CauseEntry;
using nccl_net_diag::kCauses;

namespace {

// How much each sign counts: a cause with several is likelier than one with the best of them.
constexpr int kNamedAfter = 4, kRelated = 2, kSaid = 2;
constexpr int kInTitle = 2, kInText = 1;  // only where there is no other sign

class Found {
 public:
  void add(Cause cause, const std::string& why, int strength) {
    const auto known = std::find_if(matches_.begin(), matches_.end(), [&](const Match& match) {
      return match.entry->cause == cause;
    });
    if (known == matches_.end()) {
      matches_.push_back({&nccl_net_diag::cause_entry(cause), why, strength});
    } else if (known->why.find(why) == std::string::npos) {
      known->why += "; " + why;
      known->strength += strength;
    }
  }
  void add(const Meaning& meaning) {
    for (const auto cause : meaning.own) add(cause, meaning.text, kNamedAfter);
    for (const auto cause : meaning.related) add(cause, meaning.text, kRelated);
  }
  bool empty() const { return matches_.empty(); }
  std::vector<Match> sorted() {
    std::stable_sort(matches_.begin(), matches_.end(),
                     [](const Match& a, const Match& b) { return a.strength > b.strength; });
    return std::move(matches_);
  }

 private:
  std::vector<Match> matches_;
};

// Names, numbers and what is between them. A dash and an underscore may be part of a name.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  if (out.back().empty()) out.pop_back();
  return out;
}

std::optional<int> number_in(std::string_view token) {
  int out = 0;
  const char* const end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, out);
  return read.ec == std::errc() && read.ptr == end ? std::optional(out) : std::nullopt;
}

// What a number is, by the word before it; unset: not one of ours, as a vendor's or a rank.
std::optional<NumberOf> kind_after(const std::vector<std::string>& tokens, std::size_t at) {
  if (at == 0) return tokens.size() == 1 ? std::optional(NumberOf::kAny) : std::nullopt;
  const auto& before = tokens[at - 1];
  if (before == "errno") return NumberOf::kErrno;
  if (before == "status") return NumberOf::kStatus;
  if (before == "retcode" || before == "result") return NumberOf::kResult;
  const bool of_vendor = at > 1 && tokens[at - 2] == "vendor";
  const bool failed = at > 1 && tokens[at - 2] == "failed" && before == "with";
  if (failed) return NumberOf::kErrno;  // "Call to ibv_modify_qp failed with 110"
  return before == "error" && !of_vendor ? std::optional(NumberOf::kAny) : std::nullopt;
}

void by_numbers(const std::string& line, Found& found) {
  const auto tokens = tokens_of(line);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (const auto& meaning : meanings_of(tokens[i])) found.add(meaning);
    if (const auto number = number_in(tokens[i]))
      if (const auto kind = kind_after(tokens, i))
        for (const auto& meaning : meanings_of(*number, *kind)) found.add(meaning);
  }
  for (const auto& meaning : meanings_within(line)) found.add(meaning);
}

void by_sayings(const std::string& line, Found& found) {
  constexpr std::size_t kLeast = 6;  // letters that tell one saying from the others
  for (const auto& saying : sayings())
    if (holds_words(line, saying.part) || (line.size() >= kLeast && holds_start(saying.part, line)))
      for (const auto cause : saying.causes)
        found.add(cause, fmt::format("NCCL says \"{}\"", saying.part), kSaid);
}

// A word with a digit is a name: it doesn't go on.
bool is_in(std::string_view text, const std::string& word) {
  constexpr std::size_t kShort = 4;
  const bool name = std::any_of(word.begin(), word.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return name || word.size() < kShort ? holds_words(text, word) : holds_start(text, word);
}

bool all_in(const std::string& text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return is_in(text, word); });
}

void by_words(const std::string& line, Found& found) {
  const auto words = tokens_of(line);
  if (words.empty()) return;
  for (const CauseEntry& entry : kCauses) {
    const auto& about = diagnosis::explain(entry.cause);
    const std::string id = lower(entry.id);
    const bool family = words.size() == 1 && id.starts_with(words[0] + "-");
    if (family || all_in(lower(entry.title), words))
      found.add(entry.cause, family ? "its id" : "its title", kInTitle);
    else if (all_in(lower(fmt::format("{}\n{}\n{}\n{}", entry.title, about.means, about.recognised,
                                      about.remedy)),
                    words))
      found.add(entry.cause, "its explanation", kInText);
  }
}

// Without what is no letter and no digit: "qp 110", "QP_110".
std::string bare(std::string_view text) {
  std::string out = lower(text);
  std::erase_if(out, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return out;
}

}  // namespace

std::vector<Match> search(const std::string& wanted) {
  Found found;
  if (bare(wanted).empty()) return {};
  for (const CauseEntry& entry : kCauses)
    if (bare(entry.id) == bare(wanted)) return {{&entry, "its id", kNamedAfter}};
  const std::string line = lower(wanted);
  by_numbers(line, found);
  by_sayings(line, found);
  if (found.empty()) by_words(line, found);
  return found.sorted();
}

std::string nearest_known(const std::string& wanted) {
  std::vector<std::string_view> known;
  for (const auto& entry : kCauses) known.push_back(entry.id);
  for (const auto& name : number_names()) known.push_back(name);
  return config::nearest(wanted, known);
}

}  // namespace nnd::cli
