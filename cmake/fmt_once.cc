// What of fmt is not a template, compiled once; with FMT_HEADER_ONLY every file would compile all
// of it. CMake tries this with the fmt at hand (NndThirdParty), since the two templates that fmt's
// headers leave to its library differ by release.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
