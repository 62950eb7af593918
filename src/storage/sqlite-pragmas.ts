/** How every connection that writes opens the file: write-ahead log, every commit synced to disk. */
export const durable = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA busy_timeout = 5000;
  PRAGMA cache_size = -16000;
  PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY;
`
