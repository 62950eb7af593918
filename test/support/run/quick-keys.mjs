// Loaded into the processes that tests start, and into the threads of commands that run in the process of the tests: sign-in keys
// cost as little there as scrypt can. At their real cost, first starts and sign-ins would take most of the processor time of these
// tests. With CROSSPOINT_TEST_KEYS=real they have it.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

if (process.env.CROSSPOINT_TEST_KEYS !== 'real') {
  const { scryptSync } = crypto
  crypto.scryptSync = (secret, salt, length, options) =>
    scryptSync(secret, salt, length, { ...options, N: 2 })
  syncBuiltinESMExports()
}
