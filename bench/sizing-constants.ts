// What the model of sizing-model.ts counts with: printed by `node bench/sizing.ts --measure`, on two shared cores of an AMD
// EPYC with Node 24.21 and PostgreSQL 18, with other work on the machine. What a page costs, and the database's part of a
// sign-in, are of smaller runs: of the large one a vacuum was a part.
import type { Constants, EngineName } from './sizing-model.ts'

// PostgreSQL as it comes lets its log grow to `max_wal_size`, 1 GB.
const logOfPostgres = 1_073_741_824
// As the record cache counts them (storage/cache.ts).
const cachedRecordBytes = 5000

export const constants: Record<EngineName, Constants> = {
  SQLite: {
    date: '2026-11-24',
    emptyBytes: 1_196_000,
    bytes: {
      account: 4469,
      user: 3415,
      device: 3944,
      number: 1763,
      leg: 2768,
      chargedLeg: 5629,
      change: 2195,
      tally: 99,
    },
    logBytes: 71_000_000,
    server: {
      account: 900,
      user: 553,
      device: 770,
      number: 558,
      leg: 260,
      chargedLeg: 490,
      change: 480,
      signIn: 140_000,
      get: 109,
      page: 450,
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
      restBytes: 80_000_000,
      workBytes: 126_000_000,
      cachedRecordBytes,
      connectionBytes: 0,
      databaseBytes: 0,
    },
  },
  PostgreSQL: {
    date: '2026-11-24',
    emptyBytes: 10_516_000,
    bytes: {
      account: 8147,
      user: 5654,
      device: 5306,
      number: 2263,
      leg: 3905,
      chargedLeg: 8360,
      change: 2107,
      tally: 296,
    },
    logBytes: logOfPostgres,
    server: {
      account: 1920,
      user: 907,
      device: 1170,
      number: 912,
      leg: 209,
      chargedLeg: 405,
      change: 815,
      signIn: 161_500,
      get: 182,
      page: 700,
    },
    database: {
      account: 1080,
      user: 665,
      device: 905,
      number: 690,
      leg: 218,
      chargedLeg: 553,
      change: 570,
      signIn: 4000,
      get: 40,
      page: 150,
    },
    memory: {
      restBytes: 62_000_000,
      workBytes: 77_000_000,
      cachedRecordBytes,
      connectionBytes: 5_000_000,
      databaseBytes: 164_000_000,
    },
  },
}
