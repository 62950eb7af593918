// How the process of the server is started, by the launcher and by the benchmarks.

/**
 * A young generation that fits into the processor's cache, and an old one that is collected before it is twice what lives:
 * a fifth more requests a second in 40 % less memory (bench/README.md).
 */
export const nodeOptions = ['--max-semi-space-size=8', '--heap-growing-percent=40']

/** The C library gives blocks of this size back when they are freed; else each thread would keep the 32 MB of a key derivation. */
export const environment = { MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024) }
