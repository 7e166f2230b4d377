// The file that node_exporter's textfile collector reads, kept up to date.
#pragma once

#include <string>

#include "cli/exporter/family.h"

namespace nnd::cli {

class KeptFile {
 public:
  // Throws CallError where the collector would not read a file of that name.
  explicit KeptFile(std::string path);
  // Removes it: what is there would look like now.
  ~KeptFile();
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  // Throws CallError where the first one fails. Later ones that do, on a full disk, end nothing:
  // that is said once.
  void write(const Families& families);

 private:
  std::string path_;
  bool written_ = false;
  int told_ = 0;  // errno
};

}  // namespace nnd::cli
