// Backups while a server runs, what they restore, and what is refused.
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { upgrades } from '../../src/storage/upgrades.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import {
  describeSavable,
  openSavedPlaces,
  rebuilt,
  type SavedPlace,
  type SavedPlaces,
} from '../support/run/saved.ts'
import { lacks } from '../support/servers/installed.ts'
import { engines } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { openSession, type Session } from '../support/world/session.ts'
import { someOf } from '../support/world/walk.ts'

const lacksZstd = lacks('zstd')

describeSavable('a backup', (engine) => {
  /** Tests of the file and of its refusals, which are the same on every engine. */
  const onOneEngine = engine === engines[0] ? (defineTests: () => void) => defineTests() : inFullRun
  let places: SavedPlaces
  let origin: SavedPlace
  let server: ServerProcess
  let session: Session
  let file: string
  let made: Record<string, unknown>

  const start = (place: SavedPlace) => startServerProcess(place.environment, place.dataDir)

  beforeAll(async () => {
    places = await openSavedPlaces(engine)
    origin = await places.make()
    server = await start(origin)
    session = await openSession(server)
    const { admin, masterId } = session
    expect(await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Reception' })).toSucceed()
    const hook = { name: 'Billing', uri: 'https://example.com/', hook: 'all', http_verb: 'post' }
    const secret = { ...hook, security_settings: { sha256_key: 'k'.repeat(32) } }
    expect(await admin.put(`/v2/accounts/${masterId}/webhooks`, secret)).toSucceed()
    mkdirSync(join(origin.dataDir, 'outbox'), { recursive: true })
    writeFileSync(join(origin.dataDir, 'outbox', `${'a-long-name-'.repeat(12)}.eml`), 'Subject: hello\n')
    writeFileSync(join(origin.dataDir, 'server.pem'), 'a certificate\n')
    file = join(places.folder, 'backup')
    const ended = await origin.commands.here('backup', file, '--json')
    expect(ended).toMatchObject({ status: 0, errors: '' })
    made = JSON.parse(ended.output)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await places.end()
  })

  it('is one file for its owner alone, and says what is in it', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(existsSync(`${file}.partial`)).toBe(false)
    expect(readdirSync(origin.dataDir).filter((name) => name.startsWith('staging-'))).toEqual([])
    expect(made).toEqual({
      file,
      bytes: statSync(file).size,
      encrypted: false,
      crosspoint: expect.any(String),
      engine,
      upgrade: upgrades.at(-1)?.number,
      as_of: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      counts: expect.objectContaining({ storage_upgrades: upgrades.length }),
    })
  })

  it('is restored whole: store, keys, mail and certificates, and its server works as before', async () => {
    const place = await places.make()
    const restored = await place.commands.here('restore', file, '--json')
    expect(restored).toMatchObject({ status: 0, errors: '' })
    expect(JSON.parse(restored.output)).toMatchObject({ counts: made.counts, as_of: made.as_of })
    for (const name of ['keys/server.key', 'server.pem', `outbox/${'a-long-name-'.repeat(12)}.eml`])
      expect(readFileSync(join(place.dataDir, name), 'utf8')).toBe(
        readFileSync(join(origin.dataDir, name), 'utf8'),
      )
    const verified = await place.commands.here('verify', '--json')
    expect(JSON.parse(verified.output)).toMatchObject({ sound: true, faults: [] })
    expect(verified.status).toBe(0)
    const again = await start(place)
    const { admin, masterId, close } = await openSession(again)
    const devices = await admin.get(`/v2/accounts/${masterId}/devices`)
    expect(devices.data).toMatchObject([{ name: 'Reception' }])
    close()
    expect(await again.end()).toBe(0)
  })

  onOneEngine(() => {
    it('comes out of standard output and goes in at standard input, opened by the identity it is encrypted for', async () => {
      const identity = await generateIdentity()
      const identityFile = join(places.folder, 'identity')
      writeFileSync(identityFile, `# created by a test\n${identity}\n`)
      const recipient = await identityToRecipient(identity)
      const place = await places.make()
      const encrypted = join(places.folder, 'encrypted')
      expect(
        await origin.commands.shell(`crosspoint backup - --recipient ${recipient} > ${encrypted}`),
      ).toMatchObject({ status: 0, output: '' })
      expect(readFileSync(encrypted, 'latin1')).toMatch(/^age-encryption\.org\/v1\n/)
      expect(await place.commands.here('restore', encrypted)).toEqual({
        status: 1,
        output: '',
        errors: 'crosspoint: the backup is encrypted: add --identity FILE with your identity\n',
      })
      const another = join(places.folder, 'another-identity')
      writeFileSync(another, `${await generateIdentity()}\n`)
      const unfit = await place.commands.here('restore', encrypted, '--identity', another)
      expect(unfit.status).toBe(1)
      expect(unfit.errors).toContain('cannot be decrypted with this identity')
      expect(readdirSync(place.dataDir)).toEqual([])
      const restored = await place.commands.shell(
        `crosspoint restore - --identity ${identityFile} < ${encrypted}`,
      )
      expect(restored).toMatchObject({ status: 0, errors: '' })
      expect((await place.commands.here('verify')).status).toBe(0)
    })

    it('is refused where something is already, and nothing of it is changed', async () => {
      const rows = async () => {
        const db = origin.open()
        try {
          return await db.all(
            'SELECT account_id, kind, id, revision FROM records ORDER BY account_id, kind, id',
          )
        } finally {
          await db.close()
        }
      }
      const before = await rows()
      const { status, errors } = await origin.commands.here('restore', file)
      expect(status).toBe(1)
      expect(errors).toMatch(/is not empty/)
      expect(await rows()).toEqual(before)

      const place = await places.make()
      mkdirSync(join(place.dataDir, 'keys'))
      writeFileSync(join(place.dataDir, 'keys', 'server.key'), `${'0'.repeat(64)}\n`)
      const other = await place.commands.here('restore', file)
      expect(other.status).toBe(1)
      expect(other.errors).toContain('keys/server.key differs from the file in the backup')
      expect(readdirSync(place.dataDir)).toEqual(['keys'])
    })

    it('is refused when it is damaged, cut off, newer, or none at all', async () => {
      const place = await places.make()
      const bad = join(places.folder, 'bad')
      const refusal = async () => {
        const { status, errors } = await place.commands.here('restore', bad)
        expect(status).toBe(1)
        expect(readdirSync(place.dataDir)).toEqual([])
        return errors
      }
      copyFileSync(file, bad)
      truncateSync(bad, statSync(file).size - 20)
      expect(await refusal()).toMatch(/^crosspoint: the backup is damaged: /)

      let altered = false
      await rebuilt(file, bad, (member) => {
        if (!member.name.startsWith('database/') || altered) return member
        altered = true
        const content = Buffer.from(member.content)
        content.writeUInt8((content.at(-1) ?? 0) ^ 1, content.length - 1)
        return { ...member, content }
      })
      expect(await refusal()).toContain('its checksums do not match its content')

      const newer = (change: object) => (member: { name: string; content: Buffer }) =>
        member.name === 'manifest.json'
          ? {
              ...member,
              content: Buffer.from(JSON.stringify({ ...JSON.parse(String(member.content)), ...change })),
            }
          : member
      await rebuilt(file, bad, newer({ upgrade: 999, crosspoint: '9.1.0' }))
      expect(await refusal()).toMatch(
        /the backup contains a store at upgrade 999, this version supports \d+: restore it with Crosspoint 9\.1\.0 or newer/,
      )
      await rebuilt(file, bad, newer({ format: 2 }))
      expect(await refusal()).toContain('made by a newer Crosspoint')
      await rebuilt(file, bad, newer({ engine: engine === 'sqlite' ? 'postgres' : 'sqlite' }))
      expect(await refusal()).toMatch(/checksums do not match/)

      writeFileSync(bad, 'hello\n')
      expect(await refusal()).toContain('the file is not a backup of Crosspoint')
    })

    it('never puts a file outside of the data directory', async () => {
      const place = await places.make()
      const bad = join(places.folder, 'escaping')
      await rebuilt(file, bad, (member) =>
        member.name === 'data/server.pem' ? { ...member, name: 'data/../escaped' } : member,
      )
      const { status, errors } = await place.commands.here('restore', bad)
      expect({ status, errors }).toEqual({
        status: 1,
        errors: 'crosspoint: the backup is damaged: it contains entries that do not belong in a backup\n',
      })
      expect(existsSync(join(place.dataDir, '..', 'escaped'))).toBe(false)
    })
  })

  it('is all there or not at all when restoring is killed, and can be restored again', async () => {
    const isUnpacking = (dataDir: string) => readdirSync(dataDir).some((name) => name.startsWith('staging-'))
    const hasKey = (dataDir: string) => existsSync(join(dataDir, 'keys', 'server.key'))
    for (const moment of someOf(1, [isUnpacking, hasKey])) {
      const place = await places.make()
      const command = place.commands.start('restore', file)
      await eventually(
        () => moment(place.dataDir) || command.process.exitCode !== null,
        (isThere) => isThere,
      )
      command.process.kill('SIGKILL')
      await command.ended
      const again = await place.commands.here('restore', file)
      // pg_restore finishes its current statements without its parent, so the second restore may find a
      // complete store.
      if (again.status !== 0) expect(again.errors).toMatch(/is not empty|already exists/)
      expect(await place.commands.here('verify')).toMatchObject({ status: 0 })
      const db = place.open()
      const [row] = await db.all('SELECT count(*) AS count FROM storage_upgrades')
      await db.close()
      expect(row).toEqual({ count: upgrades.length })
    }
  })

  onOneEngine(() => {
    it('leaves nothing behind when it is interrupted, and no other backup in its way', async () => {
      const interrupted = join(places.folder, 'interrupted')
      const command = origin.commands.start('backup', interrupted)
      await eventually(
        () =>
          readdirSync(origin.dataDir).some((name) => name.startsWith('staging-')) ||
          command.process.exitCode !== null,
        (isThere) => isThere,
      )
      command.process.kill('SIGTERM')
      const { status } = await command.ended
      // It may have been done before it heard.
      expect([130, 0]).toContain(status)
      expect(existsSync(`${interrupted}.partial`)).toBe(false)
      expect(readdirSync(origin.dataDir).filter((name) => name.startsWith('staging-'))).toEqual([])
      writeFileSync(`${interrupted}.partial`, '')
      const { errors } = await origin.commands.here('backup', interrupted)
      expect(errors).toContain(`${interrupted}.partial exists`)
    })

    inFullRun(() => {
      it('ends when its file cannot be written, also of a store that is larger than what waits in between', async () => {
        const place = await places.make()
        expect(await place.commands.here('restore', file)).toMatchObject({ status: 0 })
        const db = place.open()
        const sql = 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, 0)'
        const large = randomBytes(12_000_000).toString('hex')
        await db.write({ statements: [{ sql, params: ['large', '', large] }], stale: [] })
        await db.close()
        const recipient = await identityToRecipient(await generateIdentity())
        for (const more of [[], ['--recipient', recipient]])
          expect(
            await place.commands.here('backup', join(places.folder, 'missing', 'backup'), ...more),
          ).toMatchObject({ status: 1, errors: expect.stringMatching(/^crosspoint: ENOENT[^\n]*\n$/) })
        expect(readdirSync(place.dataDir).filter((name) => name.startsWith('staging-'))).toEqual([])
      })
    })

    it.skipIf(lacksZstd)(`is taken apart by the tools of any machine${lacksZstd}`, () => {
      const apart = join(places.folder, 'apart')
      mkdirSync(apart)
      execFileSync('sh', ['-c', 'zstd -dcq "$0" | tar -C "$1" -xf -', file, apart])
      const lines = readFileSync(join(apart, 'SHA256SUMS'), 'utf8').trim().split('\n')
      expect(lines.length).toBeGreaterThan(4)
      for (const line of lines) {
        const [digest, name = ''] = line.split('  ')
        expect(
          createHash('sha256')
            .update(readFileSync(join(apart, name)))
            .digest('hex'),
        ).toBe(digest)
      }
    })

    it('is not made without a store, nor without the key', async () => {
      const place = await places.make()
      expect(await place.commands.here('backup', join(places.folder, 'none'))).toMatchObject({
        status: 1,
        errors: expect.stringContaining('keys/server.key is missing in'),
      })
      mkdirSync(join(place.dataDir, 'keys'))
      writeFileSync(join(place.dataDir, 'keys', 'server.key'), `${'0'.repeat(64)}\n`)
      for (const args of [['backup', join(places.folder, 'none')], ['verify']])
        expect(await place.commands.here(...args)).toMatchObject({
          status: 1,
          errors: expect.stringMatching(/no store/),
        })
      expect(existsSync(join(places.folder, 'none'))).toBe(false)
      expect(readdirSync(place.dataDir)).toEqual(['keys'])
    })
  })
})
