// How the process of the server is started, by the launcher and by the benchmarks.

/**
 * A young generation of 12 MB, and an old one that is collected before it is twice what lives (docs/decisions/0013). Less of
 * either makes large pages slower: many of them are in the making at once.
 */
export const nodeOptions = ['--max-semi-space-size=12', '--heap-growing-percent=80']

/** The C library gives blocks of this size back when they are freed; else each thread would keep the 32 MB of a key derivation. */
export const environment = { MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024) }
