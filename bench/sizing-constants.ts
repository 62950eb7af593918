// What the model of sizing-model.ts counts with: printed by `node bench/sizing.ts --measure`, on two cores of an AMD EPYC
// with Node 24.21 and PostgreSQL 18, with nothing else at work.
export const engines = ['SQLite', 'PostgreSQL'] as const
export type EngineName = (typeof engines)[number]

/** Kinds of stored data. A leg is a call record, and a call has two; a charged call also has a ledger entry. */
export const storedKinds = ['account', 'user', 'device', 'number', 'leg', 'chargedLeg', 'change'] as const
export type StoredKind = (typeof storedKinds)[number]

/** What takes processor time. A page has 50 rows. */
export const workKinds = [...storedKinds, 'signIn', 'get', 'page'] as const
export type WorkKind = (typeof workKinds)[number]

export interface Constants {
  /** When they were measured. */
  date: string
  /** Values of an empty store. */
  emptyBytes: number
  /** With its indices, claims, audit entry and place in the feed. Statistics are counted by their rows. */
  bytes: Record<StoredKind | 'tally', number>
  /** Maximum size of the write-ahead log, in addition to the tables. */
  logBytes: number
  /** Processor time in microseconds: of the server's process with all its threads, and of the database's. */
  server: Record<WorkKind, number>
  database: Record<WorkKind, number>
  /** Resident memory of a server without what is mapped from files and could be read again. */
  memory: {
    restBytes: number
    /** Memory after work, in addition to the record cache. */
    workBytes: number
    /** For each account or other record in use. */
    cachedRecordBytes: number
    /** For each database connection on its server, after work. */
    connectionBytes: number
    /** Shared buffers, and further memory of the database without its connections. */
    databaseBytes: number
  }
}

// PostgreSQL as it comes lets its log grow to `max_wal_size`, 1 GB.
const logOfPostgres = 1_073_741_824
// As the record cache counts them (storage/cache.ts).
const cachedRecordBytes = 5000

export const constants: Record<EngineName, Constants> = {
  SQLite: {
    date: '2026-11-24',
    emptyBytes: 1_237_000,
    bytes: {
      account: 4551,
      user: 3431,
      device: 3865,
      number: 1944,
      leg: 2972,
      chargedLeg: 5958,
      change: 2208,
      tally: 98,
    },
    logBytes: 69_000_000,
    server: {
      account: 1710,
      user: 933,
      device: 1138,
      number: 777,
      leg: 373,
      chargedLeg: 605,
      change: 703,
      signIn: 163_000,
      get: 208,
      page: 500,
    },
    database: {
      account: 0,
      user: 0,
      device: 0,
      number: 0,
      leg: 0,
      chargedLeg: 0,
      change: 0,
      signIn: 0,
      get: 0,
      page: 0,
    },
    memory: {
      restBytes: 60_000_000,
      workBytes: 146_000_000,
      cachedRecordBytes,
      connectionBytes: 0,
      databaseBytes: 0,
    },
  },
  PostgreSQL: {
    date: '2026-11-24',
    emptyBytes: 10_631_000,
    bytes: {
      account: 8106,
      user: 5696,
      device: 6851,
      number: 4833,
      leg: 4677,
      chargedLeg: 9498,
      change: 5046,
      tally: 298,
    },
    logBytes: logOfPostgres,
    server: {
      account: 2615,
      user: 1000,
      device: 1397,
      number: 1195,
      leg: 332,
      chargedLeg: 684,
      change: 935,
      signIn: 170_000,
      get: 190,
      page: 530,
    },
    database: {
      account: 1490,
      user: 762,
      device: 1040,
      number: 1067,
      leg: 333,
      chargedLeg: 811,
      change: 683,
      signIn: 8000,
      get: 43,
      page: 240,
    },
    memory: {
      restBytes: 42_000_000,
      workBytes: 106_000_000,
      cachedRecordBytes,
      connectionBytes: 5_500_000,
      databaseBytes: 164_000_000,
    },
  },
}
