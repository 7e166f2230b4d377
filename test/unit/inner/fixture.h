// The libraries of fixtures/, loaded for the length of a test.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "support/catch.h"
#include "support/temp_dir.h"

// Unloaded at the end, so that it stops owning the plugin.
class Fixture {
 public:
  explicit Fixture(const std::string& path)
      : path_(path), library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    INFO((library_ == nullptr ? dlerror() : "loaded"));
    REQUIRE(library_ != nullptr);
    const void* get = dlsym(library_, "fixture_table");
    REQUIRE(get != nullptr);
    table_ = reinterpret_cast<const void* (*)()>(const_cast<void*>(get))();
    caller_ = get;
  }
  static Fixture named(const std::string& name) { return Fixture(FIXTURES + name + ".so"); }
  ~Fixture() {
    if (library_ != nullptr) dlclose(library_);
  }
  Fixture(Fixture&& other) noexcept
      : path_(std::move(other.path_)),
        library_(std::exchange(other.library_, nullptr)),
        table_(other.table_),
        caller_(other.caller_) {}
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  Fixture& operator=(Fixture&&) = delete;

  void* symbol(const char* name) const { return dlsym(library_, name); }
  const std::string& path() const { return path_; }
  const void* table() const { return table_; }    // its ncclNetIb
  const void* caller() const { return caller_; }  // an address in its code

 private:
  std::string path_;
  void* library_;
  const void* table_ = nullptr;
  const void* caller_ = nullptr;
};

using nnd::test::TempDir;

inline void copy_fixture(const std::string& name, const std::string& to) {
  std::filesystem::copy_file(FIXTURES + name + ".so", to);
}
