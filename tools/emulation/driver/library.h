// A loaded libnccl, and net plugins loaded as it would load them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/net_api.h"

namespace nnd::driver {

// A libnccl in this process. It is never unloaded: NCCL does not support that.
class NcclLibrary {
 public:
  // `file`: path or name, as for dlopen. `symbols`: a file with the same addresses that has the
  // symbols, where `file` is stripped. Throws Error where it cannot be loaded or is no NCCL.
  explicit NcclLibrary(const std::string& file, std::string symbols = "");

  void* handle() const { return handle_; }
  const std::string& path() const { return path_; }   // of the file that was loaded
  int version_code() const { return version_code_; }  // ncclGetVersion: 22809 is 2.28.9
  std::string version() const;                        // "2.28.9"
  int net_version() const;  // of its own net API, the newest that it asks a plugin for
  Caller caller() const;    // makes calls from inside this library

  // Its own transport: "IB" or "Socket". Throws Error where the library is stripped.
  std::unique_ptr<NetApi> builtin(const std::string& name) const;

  // From now on this copy believes that the current CUDA device is 0: its socket transport asks for
  // that, and there may be no GPU. Throws Error where the library is stripped.
  void pretend_cuda_device() const;

 private:
  const void* local_symbol(const std::string& name) const;

  void* handle_ = nullptr;
  std::string path_;
  std::string symbols_;  // the file to look them up in
  int version_code_ = 0;
};

// A net plugin, found by NCCL's naming rules: NAME, then libnccl-net-NAME.so where NAME is neither
// a path nor a library's name; "" means libnccl-net.so.
class Plugin {
 public:
  // Throws Error naming everything that was tried, or the versions that it lacks.
  Plugin(const std::string& name, const NcclLibrary& nccl);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  NetApi& net() { return *net_; }
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::unique_ptr<NetApi> net_;
};

}  // namespace nnd::driver
