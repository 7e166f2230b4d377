// For the parts that read and write JSON: what such a part needs of nlohmann-json is compiled once
// (json_once.cc), and not in each file again, which is a quarter of such a file's time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#define NND_JSON_ONCE(extern_)                                                                \
  extern_ template class nlohmann::basic_json<>;                                              \
  extern_ template class nlohmann::detail::serializer<nlohmann::json>;                        \
  extern_ template class nlohmann::detail::lexer<                                             \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>; \
  extern_ template class nlohmann::detail::parser<                                            \
      nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>

#ifndef NND_JSON_HERE
NND_JSON_ONCE(extern);
#endif
