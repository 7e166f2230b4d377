#include "softverbs/words.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace softverbs {

const Words& errno_words() {
  static const Words words = [] {
    Words out;
    for (int number = 1; number < 134; ++number)
      if (const char* name = strerrorname_np(number)) out.emplace_back(name, number);
    for (const auto& [name, number] : Words{{"EOPNOTSUPP", EOPNOTSUPP}, {"ENOTSUP", ENOTSUP}})
      if (std::find(out.begin(), out.end(), std::pair{name, number}) == out.end())
        out.emplace_back(name, number);
    return out;
  }();
  return words;
}

const Words& status_words() {
  static const Words words = {
      {"SUCCESS", 0},        {"LOC_LEN_ERR", 1},     {"LOC_QP_OP_ERR", 2},
      {"LOC_PROT_ERR", 4},   {"WR_FLUSH_ERR", 5},    {"BAD_RESP_ERR", 7},
      {"LOC_ACCESS_ERR", 8}, {"REM_INV_REQ_ERR", 9}, {"REM_ACCESS_ERR", 10},
      {"REM_OP_ERR", 11},    {"RETRY_EXC_ERR", 12},  {"RNR_RETRY_EXC_ERR", 13},
      {"REM_ABORT_ERR", 16}, {"FATAL_ERR", 19},      {"RESP_TIMEOUT_ERR", 20},
      {"GENERAL_ERR", 21}};
  return words;
}

const Words& event_words() {
  static const Words words = {{"CQ_ERR", 0},        {"QP_FATAL", 1},           {"QP_REQ_ERR", 2},
                              {"QP_ACCESS_ERR", 3}, {"DEVICE_FATAL", 8},       {"PORT_ACTIVE", 9},
                              {"PORT_ERR", 10},     {"LID_CHANGE", 11},        {"PKEY_CHANGE", 12},
                              {"SM_CHANGE", 13},    {"CLIENT_REREGISTER", 17}, {"GID_CHANGE", 18}};
  return words;
}

}  // namespace softverbs
