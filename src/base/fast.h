/* SPDX-License-Identifier: MIT */
/* Instruction sets. A function marked FAST is compiled for
 * x86-64-v3 (AVX2, FMA) and for the baseline; the loader picks one. Elsewhere
 * FAST is empty and the same C compiles for the machine's own set. */
#ifndef BASE_FAST_H
#define BASE_FAST_H

/* Clang 14 cannot link such functions across files. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(GSV_ONE_TARGET)
#define FAST __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FAST
#endif

/* Small helpers must be inlined into the FAST function around them; otherwise
 * they would run with the instructions of the baseline. */
#define INLINE static inline __attribute__((always_inline))

/* Tells the CPU that a loop waits for another thread. */
INLINE void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

#endif
