// Sign-ins: a file for each profile, readable by its owner only.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session, SessionStore } from '../client/src/core.ts'
import { personalFolder } from '../src/config/env.ts'
import { codeOf } from '../src/lib/error-facts.ts'
import { isObject } from '../src/lib/json.ts'
import { Mistake } from './terminal.ts'

export interface Profile {
  server: string
  named?: { account: string } | { realm: string }
  username?: string
  /** Stored, so that sessions can be renewed without a prompt. */
  apiKey?: string
  session?: Session
}

const profilesFolder = () => join(personalFolder(), 'profiles')

export const profileNames = () =>
  existsSync(profilesFolder())
    ? readdirSync(profilesFolder()).flatMap((file) => /^(.+)\.json$/.exec(file)?.slice(1) ?? [])
    : []

const isProfile = (value: unknown): value is Profile => isObject(value) && typeof value.server === 'string'

const profileIn = (file: string): Profile | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isProfile(value)) return value
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new Mistake(`${file} is not a profile: remove the file and sign in again`)
}

export const openProfile = (name: string) => {
  const folder = profilesFolder()
  if (!/^\w[\w.-]*$/.test(name))
    throw new Mistake(`${JSON.stringify(name)} is not a profile name: use letters, digits, _ . -`)
  const file = join(folder, `${name}.json`)

  const read = () => profileIn(file)

  /** Atomic. */
  const write = (profile: Profile) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const unfinished = `${file}.${process.pid}`
    writeFileSync(unfinished, `${JSON.stringify(profile, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(unfinished, file)
  }

  /** The session while the profile names the same server and user. The file is read each time, because other commands may change it. */
  const storeFor = ({ server, username, apiKey }: Profile): SessionStore => {
    const own = () => {
      const profile = read()
      const isSame = profile?.server === server && profile.username === username && profile.apiKey === apiKey
      return isSame ? profile : undefined
    }
    return {
      load: () => own()?.session,
      save(session) {
        const profile = own()
        // Undefined: another command has signed out.
        if (profile) write({ ...profile, session })
      },
      clear() {
        const { session: _ended, ...profile } = own() ?? { server: '' }
        if (profile.server) write(profile)
      },
    }
  }

  return { name, read, write, remove: () => rmSync(file, { force: true }), storeFor }
}
