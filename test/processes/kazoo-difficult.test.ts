// Documents of Kazoo that violate the schemas, and the imported records in API responses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ReportedDifference } from '../../import-kazoo/comparing/differences.ts'
import { type ImportStage, openImportStage } from '../support/kazoo/import-stage.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'
import type { Client } from '../support/world/client.ts'
import { credentialsOf } from '../support/world/world.ts'

interface Expected {
  id: string
  kazoo_import?: { rejected: Record<string, unknown> }
}

const folder = join(import.meta.dirname, '..', 'data', 'kazoo')
const dump = join(folder, 'dump')

/** The whole `data` of each response, by its path. */
const expected: Record<string, Expected> = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'))

describeAnyEngine('difficult documents of a Kazoo', (engine) => {
  let stage: ImportStage
  let admin: Client

  beforeAll(async () => {
    stage = await openImportStage(engine, new Map())
    const anyone = await stage.anyone()
    const credentials = credentialsOf('admin', 'secret')
    const first = await anyone.put('/v2/user_auth', { credentials, account_name: 'master' })
    // Numbers and booleans that are written as texts are valid in documents of Kazoo, whatever clients may send here.
    const strict = { schema_strict_validation: true }
    await anyone
      .with({ 'x-auth-token': String(first.body.auth_token) })
      .patch('/v2/system_configs/crossbar/default', strict)
    const { status, errors } = await stage.run('import', 'kazoo', dump, '--json')
    // An import of more than five seconds reports its progress.
    const others = errors.split('\n').filter((line) => !/ documents, [\d,]+ a second$/.test(line))
    expect({ status, others }).toEqual({ status: 2, others: [''] })
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

  const compared = async () => {
    const { output } = await stage.run('compare', 'kazoo', dump, '--sample', 'all', '--json')
    const { differences } = JSON.parse(output) as { differences: ReportedDifference[] }
    return differences.filter(({ question }) => question.endsWith('key by key'))
  }

  it('are compared with the responses of the API key by key: each rejected value is reported, and nothing else', async () => {
    const found = await compared()
    const rejected = Object.values(expected).flatMap(({ id, kazoo_import: set }) =>
      Object.keys(set?.rejected ?? {}).map((path) => `${id} ${path}`),
    )
    const reported = found.map(({ id, what }) => `${id} ${what}`)
    // A record that lost a required part was rejected as a whole: the part is not reported again.
    const isWithin = (outer: string) => (inner: string) => `${inner}.`.startsWith(`${outer}.`)
    for (const one of rejected)
      expect(
        reported.filter((other) => isWithin(other)(one)),
        one,
      ).toHaveLength(1)
    for (const one of reported) expect(rejected.filter(isWithin(one)), one).not.toEqual([])
    expect(
      found.filter(
        ({ why }) => !/^(?:set_aside|cidr_invalid|link_invalid|pattern_unreadable)$/.test(why ?? ''),
      ),
    ).toEqual([])
    expect(JSON.stringify(found)).not.toMatch(/gateway-secret|"abc"/)
  })

  it('are not finished while the API lacks a value that no report explains', async () => {
    const [kept, lost] = ['"premium":{"action":"deny"}', '"premium":{}']
    const replaced = (from: string, to: string) =>
      stage.change(`UPDATE records SET doc = replace(doc, '${from}', '${to}') WHERE kind = 'user'`)
    const finish = () => stage.run('import', 'kazoo', dump, '--finish', '--json')
    await replaced(kept, lost)
    const path = 'call_restriction.premium.action'
    const [difference] = (await compared()).filter(({ what }) => what === path)
    expect(difference).toEqual({
      account_id: expect.any(String),
      question: 'user, key by key',
      id: '1'.repeat(32),
      what: path,
      there: 'deny',
    })
    const refused = await finish()
    expect(refused.status).toBe(1)
    expect(refused.errors).toContain(
      `keys: account ${difference?.account_id}, user, key by key, ${difference?.id}: ${path}: expected "deny", found nothing`,
    )
    await replaced(lost, kept)
    expect(await finish()).toMatchObject({ status: 2, errors: '' })
  })
})
