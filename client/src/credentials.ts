import { md5 } from '@noble/hashes/legacy.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** What is sent instead of a password. */
export const credentialsOf = (username: string, password: string) =>
  bytesToHex(md5(utf8ToBytes(`${username.toLowerCase()}:${password}`)))
