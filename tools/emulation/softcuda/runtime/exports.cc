// The exported functions, in machine code: each says which entry it is and goes on to what that
// entry stands for (enter.cc). Arguments stay where they are, so that no function's signature need
// be known here. x86_64 and aarch64.
#include "entry.h"

#if defined(__x86_64__)
#define SOFTCUDA_CODE(entry) " lea " entry "(%rip), %r11\n jmp softcuda_enter\n"
asm(R"(
.pushsection .text
.balign 16
.hidden softcuda_enter
.type softcuda_enter, @function
softcuda_enter:
.cfi_startproc
 push %rdi
 .cfi_adjust_cfa_offset 8
 push %rsi
 .cfi_adjust_cfa_offset 8
 push %rdx
 .cfi_adjust_cfa_offset 8
 push %rcx
 .cfi_adjust_cfa_offset 8
 push %r8
 .cfi_adjust_cfa_offset 8
 push %r9
 .cfi_adjust_cfa_offset 8
 push %r11
 .cfi_adjust_cfa_offset 8
 mov %r11, %rdi
 call softcuda_before_call
 pop %r11
 .cfi_adjust_cfa_offset -8
 pop %r9
 .cfi_adjust_cfa_offset -8
 pop %r8
 .cfi_adjust_cfa_offset -8
 pop %rcx
 .cfi_adjust_cfa_offset -8
 pop %rdx
 .cfi_adjust_cfa_offset -8
 pop %rsi
 .cfi_adjust_cfa_offset -8
 pop %rdi
 .cfi_adjust_cfa_offset -8
 jmp *%rax
.cfi_endproc
.size softcuda_enter, .-softcuda_enter
.popsection
)");
#elif defined(__aarch64__)
#define SOFTCUDA_CODE(entry) \
  " adrp x16, " entry "\n add x16, x16, :lo12:" entry "\n b softcuda_enter\n"
asm(R"(
.pushsection .text
.balign 16
.hidden softcuda_enter
.type softcuda_enter, %function
softcuda_enter:
.cfi_startproc
 stp x29, x30, [sp, #-96]!
 .cfi_adjust_cfa_offset 96
 .cfi_rel_offset x29, 0
 .cfi_rel_offset x30, 8
 stp x0, x1, [sp, #16]
 stp x2, x3, [sp, #32]
 stp x4, x5, [sp, #48]
 stp x6, x7, [sp, #64]
 str x8, [sp, #80]
 mov x0, x16
 bl softcuda_before_call
 mov x16, x0
 ldp x0, x1, [sp, #16]
 ldp x2, x3, [sp, #32]
 ldp x4, x5, [sp, #48]
 ldp x6, x7, [sp, #64]
 ldr x8, [sp, #80]
 ldp x29, x30, [sp], #96
 .cfi_adjust_cfa_offset -96
 br x16
.cfi_endproc
.size softcuda_enter, .-softcuda_enter
.popsection
)");
#else
#error "softcuda knows x86_64 and aarch64"
#endif

// An entry, as entry.h has it, and the function that leads to it. label: of this release's
// function.
#define SOFTCUDA_EXPORT(name, label, release)                                  \
  asm(".pushsection .rodata.str1.1,\"aMS\",%progbits,1\n"                      \
      "softcuda_name_" label ": .asciz \"" name                                \
      "\"\n"                                                                   \
      ".popsection\n"                                                          \
      ".pushsection softcuda_entries,\"aw\",%progbits\n"                       \
      ".balign 8\n"                                                            \
      "softcuda_entry_" label ": .quad 0, softcuda_name_" label ", " release   \
      "\n"                                                                     \
      ".popsection\n"                                                          \
      ".pushsection .text\n"                                                   \
      ".balign 16\n"                                                           \
      ".globl " label                                                          \
      "\n"                                                                     \
      ".type " label ", %function\n" label                                     \
      ":\n" SOFTCUDA_CODE("softcuda_entry_" label) ".size " label ", .-" label \
                                                   "\n"                        \
                                                   ".popsection\n");

#define SOFTCUDA_EXPORT_12(name)             \
  SOFTCUDA_EXPORT(name, name "_of_12", "12") \
  asm(".symver " name "_of_12, " name "@libcudart.so.12");
#define SOFTCUDA_EXPORT_13(name)             \
  SOFTCUDA_EXPORT(name, name "_of_13", "13") \
  asm(".symver " name "_of_13, " name "@@libcudart.so.13");

#define RUNTIME_12(name) SOFTCUDA_EXPORT_12(#name)
#define RUNTIME_13(name) SOFTCUDA_EXPORT_13(#name)
#define RUNTIME_12_13(name) SOFTCUDA_EXPORT_12(#name) SOFTCUDA_EXPORT_13(#name)
#define DRIVER(name) SOFTCUDA_EXPORT(#name, #name, "0")
#include "names.inc"
