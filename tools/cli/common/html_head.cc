#include "cli/common/html_head.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

namespace nnd::cli {

namespace {

// As the policy names a text: 'sha256-...'.
std::string source(std::string_view text) {
  if (text.empty()) return "'none'";
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, kVariant)> out{};
  return fmt::format("'sha256-{}'",
                     sodium_bin2base64(out.data(), out.size(), hash.data(), hash.size(), kVariant));
}

std::string content_policy(std::string_view style, std::string_view script) {
  return fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; "
      "script-src {}; base-uri 'none'; form-action 'none'\">\n",
      source(style), source(script));
}

}  // namespace

std::string html_head(std::string_view command, std::string_view style, std::string_view script) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n{}<title>nccl-net-diag {}</title>\n"
      "<style>{}</style></head><body>\n",
      content_policy(style, script), command, style);
}

}  // namespace nnd::cli
