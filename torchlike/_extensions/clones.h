/* The compiler makes the inner loops for several kinds of x86-64 processors, and the loader picks one. Older compilers do not know the
   levels of x86-64. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#if __GNUC__ >= 12
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define CLONES
#endif
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#define INDEPENDENT _Pragma("GCC ivdep") /* a result may lie where an operand lies, never beside it */
#define AS_A_LOOP _Pragma("GCC unroll 1") /* a short loop, which GCC would write out, and then not compute with vectors */
#else
#define INLINE static inline
#define INDEPENDENT
#define AS_A_LOOP
#endif

/* Between two looks at what another thread writes. */
INLINE void pause_briefly(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#endif
}
