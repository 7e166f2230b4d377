#include "verdict/progress.h"

#include <fstream>

namespace nnd::verdict {

bool Progress::made() {
  bool out = false;
  for (const auto& entry : std::filesystem::directory_iterator(logs_)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::streamoff& from = read_[entry.path()];
    std::ifstream in(entry.path());
    in.seekg(from);
    for (std::string line; std::getline(in, line) && !in.eof(); from = in.tellg()) {
      out = out || line.find(R"(.stall",)") == std::string::npos;
      connects_ = connects_ || line.find(R"("ev":"conn.)") != std::string::npos ||
                  line.find(R"("ev":"qp.)") != std::string::npos;
    }
  }
  return out;
}

}  // namespace nnd::verdict
