// Who is signed in where: a file for each profile, which only its owner may read.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session, SessionStore } from '../../../client/src/core.ts'
import { personalFolder } from '../../config/env.ts'
import { codeOf } from '../../lib/error-facts.ts'
import { isObject } from '../../lib/json.ts'
import { Mistake } from './terminal.ts'

export interface Profile {
  server: string
  /** By which name or realm the account is signed in to. */
  named?: { account: string } | { realm: string }
  username?: string
  /** Instead of a user; kept, so that a session can be opened anew with nobody there. */
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
  throw new Mistake(`${file} is no profile: remove it, and sign in anew`)
}

/** A profile by its name. */
export const openProfile = (name: string) => {
  const folder = profilesFolder()
  if (!/^\w[\w.-]*$/.test(name))
    throw new Mistake(`${JSON.stringify(name)} is no name of a profile: letters, digits, _ . -`)
  const file = join(folder, `${name}.json`)

  const read = () => profileIn(file)

  /** At once or not at all: a command that is killed leaves the old one. */
  const write = (profile: Profile) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const unfinished = `${file}.${process.pid}`
    writeFileSync(unfinished, `${JSON.stringify(profile, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(unfinished, file)
  }

  /**
   * The session of a profile as long as it is of this server and person: somebody may sign in elsewhere under its name
   * while a command runs, whose server must not hear of that. The file is asked each time: commands run beside each
   * other, and each may renew the session.
   */
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
        // Gone: somebody has signed out.
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
