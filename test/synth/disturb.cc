#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "synth/job.h"

namespace nnd::synth {

namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> logs_in(const fs::path& directory) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(directory)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_guilty(const Planted& planted, const fs::path& log, const std::string& text) {
  return (!planted.host.empty() && log.filename().string().starts_with(planted.host + ".")) ||
         (planted.rank && text.find(fmt::format("\"rank\":{},", *planted.rank)) != text.npos);
}

void add_earlier(Spec spec, const fs::path& directory) {
  const auto earlier = directory / "earlier";
  fs::create_directory(earlier);
  spec.seed += 1'000'000;
  spec.fault = spec.seed % 2 == 0 ? Fault::kNone : Fault::kCable;
  spec.hours_ago = 1;
  write_job(spec, earlier);
}

}  // namespace

void disturb(const Spec& spec, const Planted& planted, const Surroundings& surroundings,
             const fs::path& directory) {
  std::mt19937_64 random(spec.seed ^ 0x5eed);
  int to_cut = surroundings.cut;
  auto logs = logs_in(directory);
  std::shuffle(logs.begin(), logs.end(), random);
  const auto missing =
      static_cast<std::size_t>(surroundings.missing * static_cast<double>(logs.size()));
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (i < missing) {
      fs::remove(logs[i]);
      continue;
    }
    const auto text = read(logs[i]);
    if (to_cut > 0 && !is_guilty(planted, logs[i], text)) {
      fs::resize_file(logs[i], std::uniform_int_distribution<std::size_t>(text.size() / 4,
                                                                          text.size() - 1)(random));
      --to_cut;
    } else if (surroundings.last_line) {
      fs::resize_file(logs[i], text.size() - 5);
    }
    if (surroundings.others && i % 7 == 0)
      fs::copy_file(logs[i], directory / fmt::format("copy{}.txt", i));
  }
  if (surroundings.others) std::ofstream(directory / "train.out") << "{\"loss\": 1}\nstep 1\n";
  if (surroundings.earlier) add_earlier(spec, directory);
}

}  // namespace nnd::synth
