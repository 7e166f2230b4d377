// strerrorname_np, strerrordesc_np and sigabbrev_np of glibc 2.32, for what runs with an older one:
// see cmake/NndGlibcFloor.cmake.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#define HIDDEN __attribute__((visibility("hidden")))

namespace {

#define E(name) {name, #name},
// clang-format off
constexpr std::pair<int, const char*> kNames[] = {
    E(EPERM) E(ENOENT) E(ESRCH) E(EINTR) E(EIO) E(ENXIO) E(E2BIG) E(ENOEXEC) E(EBADF) E(ECHILD)
    E(EAGAIN) E(ENOMEM) E(EACCES) E(EFAULT) E(ENOTBLK) E(EBUSY) E(EEXIST) E(EXDEV) E(ENODEV)
    E(ENOTDIR) E(EISDIR) E(EINVAL) E(ENFILE) E(EMFILE) E(ENOTTY) E(ETXTBSY) E(EFBIG) E(ENOSPC)
    E(ESPIPE) E(EROFS) E(EMLINK) E(EPIPE) E(EDOM) E(ERANGE) E(EDEADLK) E(ENAMETOOLONG) E(ENOLCK)
    E(ENOSYS) E(ENOTEMPTY) E(ELOOP) E(ENOMSG) E(EIDRM) E(ECHRNG) E(EL2NSYNC) E(EL3HLT) E(EL3RST)
    E(ELNRNG) E(EUNATCH) E(ENOCSI) E(EL2HLT) E(EBADE) E(EBADR) E(EXFULL) E(ENOANO) E(EBADRQC)
    E(EBADSLT) E(EBFONT) E(ENOSTR) E(ENODATA) E(ETIME) E(ENOSR) E(ENONET) E(ENOPKG) E(EREMOTE)
    E(ENOLINK) E(EADV) E(ESRMNT) E(ECOMM) E(EPROTO) E(EMULTIHOP) E(EDOTDOT) E(EBADMSG)
    E(EOVERFLOW) E(ENOTUNIQ) E(EBADFD) E(EREMCHG) E(ELIBACC) E(ELIBBAD) E(ELIBSCN) E(ELIBMAX)
    E(ELIBEXEC) E(EILSEQ) E(ERESTART) E(ESTRPIPE) E(EUSERS) E(ENOTSOCK) E(EDESTADDRREQ)
    E(EMSGSIZE) E(EPROTOTYPE) E(ENOPROTOOPT) E(EPROTONOSUPPORT) E(ESOCKTNOSUPPORT) E(EOPNOTSUPP)
    E(EPFNOSUPPORT) E(EAFNOSUPPORT) E(EADDRINUSE) E(EADDRNOTAVAIL) E(ENETDOWN) E(ENETUNREACH)
    E(ENETRESET) E(ECONNABORTED) E(ECONNRESET) E(ENOBUFS) E(EISCONN) E(ENOTCONN) E(ESHUTDOWN)
    E(ETOOMANYREFS) E(ETIMEDOUT) E(ECONNREFUSED) E(EHOSTDOWN) E(EHOSTUNREACH) E(EALREADY)
    E(EINPROGRESS) E(ESTALE) E(EUCLEAN) E(ENOTNAM) E(ENAVAIL) E(EISNAM) E(EREMOTEIO) E(EDQUOT)
    E(ENOMEDIUM) E(EMEDIUMTYPE) E(ECANCELED) E(ENOKEY) E(EKEYEXPIRED) E(EKEYREVOKED)
    E(EKEYREJECTED) E(EOWNERDEAD) E(ENOTRECOVERABLE) E(ERFKILL) E(EHWPOISON)
};
#define S(name) {SIG##name, #name},
constexpr std::pair<int, const char*> kSignals[] = {
    S(HUP) S(INT) S(QUIT) S(ILL) S(TRAP) S(ABRT) S(BUS) S(FPE) S(KILL) S(USR1) S(SEGV) S(USR2)
    S(PIPE) S(ALRM) S(TERM) S(STKFLT) S(CHLD) S(CONT) S(STOP) S(TSTP) S(TTIN) S(TTOU) S(URG)
    S(XCPU) S(XFSZ) S(VTALRM) S(PROF) S(WINCH) S(POLL) S(PWR) S(SYS)
};
// clang-format on
#undef S
#undef E

}  // namespace

extern "C" {

HIDDEN const char* strerrorname_np(int number) noexcept {
  if (number == 0) return "0";
  for (const auto& [known, name] : kNames)
    if (known == number) return name;
  return nullptr;
}

// No program here sets a locale, so the words are not translated.
HIDDEN const char* strerrordesc_np(int number) noexcept {
  return strerrorname_np(number) == nullptr ? nullptr : strerror(number);
}

HIDDEN const char* sigabbrev_np(int number) noexcept {
  for (const auto& [known, name] : kSignals)
    if (known == number) return name;
  return nullptr;
}

}  // extern "C"
