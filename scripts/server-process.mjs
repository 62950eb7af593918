// How the process of the server is started, by the launcher and by the benchmarks.

/**
 * The old generation is collected before it is more than twice what lives (docs/decisions/0013). The young one keeps its
 * usual size: with less, large pages get slower, because many of them are in the making at once.
 */
export const nodeOptions = ['--heap-growing-percent=100']

/** The C library gives blocks of this size back when they are freed; else each thread would keep the 32 MB of a key derivation. */
export const environment = { MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024) }
