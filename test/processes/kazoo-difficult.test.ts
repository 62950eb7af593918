// Documents of Kazoo that break today's schemas: what each comes to, by the responses of the API.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { describeAnyEngine } from '../support/databases.ts'
import { type ImportStage, openImportStage } from '../support/kazoo/import-stage.ts'
import { credentialsOf } from '../support/world.ts'

const folder = join(import.meta.dirname, '..', 'data', 'kazoo')
const dump = join(folder, 'dump')

/** The whole `data` of each response, by its path. */
const expected: Record<string, unknown> = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'))

describeAnyEngine('difficult documents of a Kazoo', (engine) => {
  let stage: ImportStage
  let admin: Client

  beforeAll(async () => {
    stage = await openImportStage(engine, new Map())
    const { status, errors } = await stage.run('import', 'kazoo', dump, '--json')
    expect({ status, errors }).toEqual({ status: 2, errors: '' })
    const anyone = await stage.anyone()
    const credentials = credentialsOf('admin', 'secret')
    const { body } = await anyone.put('/v2/user_auth', { credentials, realm: 'master.sip.example' })
    admin = anyone.with({ 'x-auth-token': String(body.auth_token) })
  })
  afterAll(() => stage.close())

  it.each(Object.keys(expected))('keep everything that is valid: %s', async (path) => {
    const { data } = await admin.get(path)
    expect(data).toEqual(expected[path])
  })

  it('store rejected secrets sealed, like other secrets', async () => {
    const stored = JSON.stringify(await stage.rows('SELECT doc FROM records'))
    expect(stored).toContain('kazoo_import')
    for (const secret of ['gateway-secret-1', 'gateway-secret-2', '"secret\\":\\"abc'])
      expect(stored).not.toContain(secret)
  })
})
