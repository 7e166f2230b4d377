#include "log/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "log/owned_fd.h"

namespace nnd::log {

namespace fs = std::filesystem;

namespace {

class Plain : public Source {
 public:
  Plain(OwnedFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  std::size_t read(char* to, std::size_t most) override {
    const ssize_t some = ::read(fd_.get(), to, most);
    if (some > 0 && to[0] == '\0' && before_large_hole()) return 0;
    if (some >= 0) return static_cast<std::size_t>(some);
    if (errno == EINTR) return 0;  // Ctrl-C, at a pipe that says nothing: what came is all there is
    throw ReadError(path_ + ": " + std::strerror(errno));
  }
  bool compressed() const override { return false; }

 private:
  // A file may claim to be any size: nobody writes so far behind what he wrote last, and zeros for
  // a terabyte take minutes to read.
  bool before_large_hole() const {
    constexpr off_t kLarge = off_t{64} << 20;
    const off_t at = lseek(fd_.get(), 0, SEEK_CUR);
    if (at < 0) return false;  // a pipe
    off_t data = lseek(fd_.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) data = lseek(fd_.get(), 0, SEEK_END);  // a hole to its end
    lseek(fd_.get(), at, SEEK_SET);
    return data - at > kLarge;
  }

  OwnedFd fd_;
  std::string path_;
};

OwnedFd copy_of(int fd) { return OwnedFd(fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

OwnedFd temporary_file() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr)
    throw ReadError(std::string(kStandardInput) + ": no temporary file: " + std::strerror(errno));
  OwnedFd out = copy_of(fileno(file));
  std::fclose(file);
  return out;
}

// A pipe gives its bytes once: they are kept, for whoever reads them again.
class StandardInput : public Source {
 public:
  std::size_t read(char* to, std::size_t most) override {
    static const OwnedFd kept = temporary_file();
    const ssize_t before = pread(kept.get(), to, most, at_);
    const auto got = before > 0 ? static_cast<std::size_t>(before) : plain_.read(to, most);
    for (std::size_t done = before > 0 ? got : 0; done < got;) {
      const ssize_t some =
          pwrite(kept.get(), to + done, got - done, at_ + static_cast<off_t>(done));
      if (some <= 0)
        throw ReadError(std::string(kStandardInput) +
                        ": it can't be kept in a temporary file: " + std::strerror(errno));
      done += static_cast<std::size_t>(some);
    }
    at_ += static_cast<off_t>(got);
    return got;
  }
  bool compressed() const override { return false; }

 private:
  Plain plain_{copy_of(STDIN_FILENO), kStandardInput};
  off_t at_ = 0;
};

// Bytes that a decompressor has not taken yet.
class Compressed {
 public:
  Compressed(std::unique_ptr<Source> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}

  // False: there are no more.
  bool more() {
    size_ = source_->read(bytes_.data(), bytes_.size());
    taken_ += size_;
    return size_ != 0;
  }
  // So many bytes have come of it. A file may be made to become any number of them; the best
  // compressors make a log a fortieth.
  std::size_t gave(std::size_t bytes) {
    constexpr std::uint64_t kAnyway = std::uint64_t{32} << 20, kMostTimes = 200;
    given_ += bytes;
    if (given_ > kAnyway + kMostTimes * taken_)
      throw ReadError(path_ + ": it unpacks to more than " + std::to_string(kMostTimes) +
                      " times its size, which no log does: the rest was not read");
    return bytes;
  }
  [[noreturn]] void damaged(const char* kind) const {
    throw ReadError(path_ + ": the " + kind + " data is damaged");
  }
  char* data() { return bytes_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<Source> source_;
  std::string path_;
  std::array<char, std::size_t{64} << 10> bytes_;
  std::size_t size_ = 0;
  std::uint64_t taken_ = 0, given_ = 0;
};

// A file that ends in the middle is as long as it goes; several in one are one after the other.
class Gzip : public Source {
 public:
  Gzip(std::unique_ptr<Source> source, std::string path)
      : input_(std::move(source), std::move(path)) {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  std::size_t read(char* to, std::size_t most) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(most);
    while (stream_.avail_out == most) {
      if (stream_.avail_in == 0) {
        if (!input_.more()) return 0;
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(input_.size());
      }
      if (ended_) inflateReset(&stream_);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (result != Z_OK && !ended_ && result != Z_BUF_ERROR) input_.damaged("gzip");
    }
    return input_.gave(most - stream_.avail_out);
  }

 private:
  Compressed input_;
  z_stream stream_{};
  bool ended_ = false;
};

class Zstd : public Source {
 public:
  Zstd(std::unique_ptr<Source> source, std::string path)
      : input_(std::move(source), std::move(path)), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  std::size_t read(char* to, std::size_t most) override {
    ZSTD_outBuffer out{to, most, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !held_back_) {
        if (!input_.more()) return 0;
        in_ = {input_.data(), input_.size(), 0};
      }
      const std::size_t result = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(result) != 0) input_.damaged("zstd");
      held_back_ = out.pos == out.size;
    }
    return input_.gave(out.pos);
  }

 private:
  Compressed input_;
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool held_back_ = false;  // there was no room for all that it had
};

// A FIFO or a device of that name must not hold anybody up.
OwnedFd open_file(const std::string& path) {
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (fd.get() < 0 || fstat(fd.get(), &about) != 0)
    throw ReadError(path + ": " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw ReadError(path + ": it is no regular file");
  return fd;
}

}  // namespace

std::unique_ptr<Source> open_source(const fs::path& path) {
  const std::string name = path.string();
  if (name == kStandardInput) return std::make_unique<StandardInput>();
  OwnedFd fd = open_file(name);
  std::array<char, 4> start{};
  const ssize_t size = pread(fd.get(), start.data(), start.size(), 0);
  const std::string_view magic(start.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  auto plain = std::make_unique<Plain>(std::move(fd), name);
  if (magic.starts_with("\x1f\x8b")) return std::make_unique<Gzip>(std::move(plain), name);
  if (magic == "\x28\xb5\x2f\xfd") return std::make_unique<Zstd>(std::move(plain), name);
  return plain;
}

std::unique_ptr<Source> open_source(const fs::path& path, std::uint64_t from) {
  OwnedFd fd = open_file(path.string());
  if (lseek(fd.get(), static_cast<off_t>(from), SEEK_SET) < 0)
    throw ReadError(path.string() + ": " + std::strerror(errno));
  return std::make_unique<Plain>(std::move(fd), path.string());
}

}  // namespace nnd::log
