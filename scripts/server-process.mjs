// How the process of the server is started, by the launcher and by the benchmarks.

/**
 * V8 would keep 100 MB and more for a young generation, of which a request needs one or two. One thread collects so small a generation with
 * less work than several. It starts with 2 MB: 1 MB costs more collections during the start, 4 MB cost 2.6 MB of memory at rest.
 * src/commands/heap-bounds.ts sets the other bounds soon after the start (docs/decisions/0013).
 */
export const nodeOptions = ['--min-semi-space-size=2', '--max-semi-space-size=8', '--no-parallel-scavenge']

/**
 * The C library returns freed blocks of 4 MB; otherwise each thread would keep the 32 MB of a key derivation.
 * An arena keeps smaller blocks: by default it returns memory beyond 128 kB, and the system clears pages again
 * for each part of an export. All threads share two arenas and reuse each other's memory.
 */
export const environment = {
  MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(4 * 1024 * 1024),
  MALLOC_ARENA_MAX: '2',
}
