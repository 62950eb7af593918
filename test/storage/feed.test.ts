// No write bypasses the change feed: neither by any route over HTTP, nor by any module of the code.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client as Postgres } from 'pg'
import { describe, expect, it } from 'vitest'
import { systemScope } from '../../src/storage/change-set.ts'
import { differenceOf } from '../support/matchers/snapshot.ts'
import { nameOf } from '../support/world/route-samples.ts'
import {
  branding,
  callRoute,
  demotion,
  installation,
  isPlan,
  isStop,
  onAccount,
  setStage,
  unassignment,
  writingRoutes,
} from '../support/world/route-stage.ts'
import { someOf, walkLimitMs } from '../support/world/walk.ts'
import { describeEngines, type Person, useWorld, type World } from '../support/world/world.ts'

/** Routes with a writing method that store nothing here, and why. */
const storesNothing: Readonly<Record<string, string>> = {
  'PUT /v2/user_auth': 'a token is signed, not stored',
  'PUT /v2/api_auth': 'a token is signed, not stored',
  'POST /v2/auth/tokeninfo': 'a question with a body',
  'PUT /v2/user_auth/recovery': 'the mail alone carries the reset',
  'PUT /v2/schemas/{schema_name}/validation': 'a question with a body',
  [`PUT ${onAccount}/users/{user_id}/user_auth`]: 'a token is signed, not stored',
  [`DELETE ${onAccount}/security/login_lock`]: 'the account is not locked',
  [`DELETE ${onAccount}/registrations`]: 'no edge has any',
  [`POST ${onAccount}/phone_numbers/fix`]: 'nothing is out of order',
  [`POST ${onAccount}/phone_numbers/fix/{phone_number}`]: 'nothing is out of order',
  [`POST ${onAccount}/services/quote`]: 'a question about prices',
  'POST /v2/services/quote': 'a question about prices',
  'POST /v2/edge/freeswitch': 'a question about a phone or a call',
  'POST /v2/edge/calls': 'a call of an unknown account',
  [`POST ${onAccount}/services/reconciliation`]: 'every count is right',
  [`POST ${onAccount}/services/synchronization`]: 'no other system is notified',
  [`POST ${onAccount}/whitelabel/domains`]: 'a question to name servers',
  [`POST ${onAccount}/phone_numbers/check`]: 'a question to carriers',
  'POST /v2/notifications/{notification_id}/preview': 'a mail is sent',
  [`POST ${onAccount}/webhooks/{webhook_id}/test`]: 'a receiver is called',
  [`PATCH ${onAccount}/webhooks`]: 'none was switched off',
  [`PATCH ${onAccount}/descendants/webhooks`]: 'none was switched off',
  [`POST ${onAccount}/notifications/{notification_id}/preview`]: 'a mail is sent',
}

/** Routes that do not succeed with ordinary records; each has separate tests. */
const needsMore: Readonly<Record<string, string>> = {
  'POST /v2/user_auth/recovery': 'asks for the secret in a mail',
  [`PUT ${onAccount}/transactions/sale`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/transactions/refund`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/transactions/{transaction_id}`]: 'never succeeds',
  [`PUT ${onAccount}/services/payment_tokens`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/services/payment_tokens/setup`]: 'asks for a bookkeeper outside',
  [`POST ${onAccount}/services/payment_tokens/{token_id}`]: 'asks for a bookkeeper outside',
  [`DELETE ${onAccount}/services/payment_tokens/{token_id}`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/devices/{device_id}`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/sync`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/quickcall/{number}`]: 'asks for a media switch',
  [`POST ${onAccount}/users/{user_id}/quickcall/{number}`]: 'asks for a media switch',
  [`DELETE ${onAccount}/registrations/{username}`]: 'asks for a registered phone',
  [`POST ${onAccount}/channels/{uuid}`]: 'asks for a media switch',
  [`PUT ${onAccount}/phone_numbers/{phone_number}/reserve`]: 'asks for a number that is not coming in',
  [`POST ${onAccount}/whitelabel/emails/{email_id}/verify`]: 'asks for the code in a mail',
  [`POST ${onAccount}/phone_numbers/locality`]: 'asks for an inventory or imported localities',
  'POST /v2/work/{kind}/{id}/retry': 'asks for a job that waits',
  'PUT /v2/tasks/{task_id}/retry': 'asks for failed rows',
  [`PUT ${onAccount}/tasks/{task_id}/retry`]: 'asks for failed rows',
  'PUT /v2/tasks/{task_id}/continue': 'asks for a stopped task',
  [`PUT ${onAccount}/tasks/{task_id}/continue`]: 'asks for a stopped task',
  [`POST ${onAccount}/invoices/{invoice_id}/pay`]: 'asks for an invoice of a month',
  [`POST ${onAccount}/invoices/{invoice_id}/void`]: 'asks for an invoice of a month',
  [`PUT ${onAccount}/invoices/{invoice_id}/credit_notes`]: 'asks for an invoice of a month',
  [`DELETE ${onAccount}/users/{user_id}/qrcode`]: 'asks for a second factor of the user',
  [`PUT ${onAccount}/users/{user_id}/passkeys/options`]: 'is for the user in person',
  [`PUT ${onAccount}/users/{user_id}/passkeys`]: 'asks for an authenticator',
  [`PATCH ${onAccount}/users/{user_id}/passkeys/{passkey_id}`]: 'asks for an authenticator',
  [`DELETE ${onAccount}/users/{user_id}/passkeys/{passkey_id}`]: 'asks for an authenticator',
  'PUT /v2/multi_factor/passkeys/options': 'asks for a domain of passkeys',
  'PUT /v2/multi_factor/passkeys': 'asks for an authenticator',
  [`POST ${onAccount}/users/{user_id}/access_lists`]: 'users have none',
  [`DELETE ${onAccount}/users/{user_id}/access_lists`]: 'users have none',
  ...Object.fromEntries(
    [
      ...['PUT', 'POST', 'PATCH', 'DELETE'].map(
        (method) => `${method} ${onAccount}/system_configs/{config_id}`,
      ),
      ...['POST', 'PATCH', 'DELETE'].map(
        (method) => `${method} ${onAccount}/system_configs/{config_id}/{section}`,
      ),
    ].map((name) => [name, 'accounts have none']),
  ),
}

interface FeedEntry {
  account_id: string
  id: string
  kind: string
  record_id: string
  author: string
}

/** The feed accepts no events until it is opened again: any write then bypasses it. */
const closeFeed = async ({ engine, place }: World): Promise<() => Promise<void>> => {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(join(place.dataDir, 'crosspoint.db'), { timeout: 60_000 })
    db.exec(
      "CREATE TRIGGER closed BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'the feed is closed'); END",
    )
    return async () => {
      db.exec('DROP TRIGGER closed')
      db.close()
    }
  }
  const client = new Postgres({ connectionString: place.databaseUrl })
  await client.connect()
  await client.query(`CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the feed is closed'; END $$`)
  await client.query(
    'CREATE TRIGGER closed BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION closed()',
  )
  return async () => {
    await client.query('DROP TRIGGER closed ON audit_log')
    await client.query('DROP FUNCTION closed()')
    await client.end()
  }
}

const textOf = ({ account_id, kind, record_id }: Omit<FeedEntry, 'author' | 'id'>) =>
  `${account_id} ${kind} ${record_id}`

/** The audit entries of one request. */
const entriesOf = async ({ server }: World, requestId: string) => {
  const audit = await server.store.all<FeedEntry>(
    "SELECT account_id, id, kind, record_id, author FROM audit_log WHERE action <> 'happened'",
  )
  return audit.filter(({ author }) => JSON.parse(author).requestId === requestId)
}

/** Reads each entry as an auditor does, and finds in it who made the change. */
const expectAudited = async (
  world: World,
  visitor: Person,
  entries: readonly FeedEntry[],
  requestId: string,
) => {
  // One of the routes ends all sessions, the operator's among them.
  const operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
  for (const { account_id: accountId, id, kind, record_id: recordId } of entries) {
    // Noted after the answer for the user who has signed in; the holder of a token may sign in for another
    // user.
    if (kind === 'sign_in_networks') continue
    const answer = await operator.get(`/v2/accounts/${accountId}/audit/${id}`)
    expect(answer.data, answer.text).toMatchObject({
      id,
      actor: {
        type: 'user',
        id: visitor.id,
        account_id: visitor.account.id,
        client_address: '127.0.0.1',
      },
      request_id: requestId,
      record: { kind, id: recordId },
    })
  }
}

const recordsIn = (rows: readonly string[]) =>
  rows
    .filter((row) => row.startsWith('records '))
    .map((row) => JSON.parse(row.slice('records '.length)) as Record<string, unknown>)

/** The records that differ. One whose revision is the same was not edited: only its count of sub-accounts moved. */
const changedRecords = (difference: ReturnType<typeof differenceOf>, masterId: string) => {
  const gone = recordsIn(difference.gone)
  const fresh = recordsIn(difference.new)
  const keyOf = (row: Record<string, unknown>) => `${row.account_id} ${row.kind} ${row.id} ${row.revision}`
  const had = new Set(gone.map(keyOf))
  const unedited = new Set(fresh.map(keyOf).filter((key) => had.has(key)))
  const edited = [...gone, ...fresh].filter((row) => !unedited.has(keyOf(row)))
  // Changes that belong to no account are in the audit log of the master account.
  const ownerOf = (accountId: unknown) => (accountId === systemScope ? masterId : accountId)
  return edited.map(({ account_id, kind, id }) => `${ownerOf(account_id)} ${kind} ${id}`)
}

describeEngines('the change feed', (engine) => {
  const world = useWorld(engine)

  // Each route needs its own records: all of some 240 take minutes.
  it('has an entry, and in the audit the right actor, for everything that a route writes', {
    timeout: walkLimitMs,
  }, async () => {
    const unsuccessful: string[] = []
    const routes = someOf(8, writingRoutes(world))
    for (const [number, route] of routes.entries()) {
      const name = nameOf(route)
      const stage = await setStage(world, name)
      // Some routes end the session that asks: a user who signed in only for this sends the request.
      const visitor = await world.admin(world.master)
      const before = await world.snapshot()
      const answer = await callRoute(visitor, route, stage, `feed-${number}`)
      if (answer.status >= 300) {
        unsuccessful.push(name in needsMore ? name : `${name}: ${answer.status} ${answer.text}`)
        continue
      }
      const changed = changedRecords(differenceOf(before, await world.snapshot()), world.master.id)
      const entries = await entriesOf(world, `feed-${number}`)
      await expectAudited(world, visitor, entries, `feed-${number}`)
      const told = new Set(entries.map(textOf))
      expect(
        changed.filter((record) => !told.has(record)),
        `${name} changed something without an entry`,
      ).toEqual([])
      if (name in storesNothing) expect(changed, name).toEqual([])
      else expect(entries.length, `${name}: ${answer.text}`).toBeGreaterThan(0)
    }
    const walked = new Set(routes.map(nameOf))
    expect(unsuccessful.toSorted()).toEqual(
      Object.keys(needsMore)
        .filter((name) => walked.has(name))
        .toSorted(),
    )
  })
})

describeEngines('the change feed, closed', (engine) => {
  const world = useWorld(engine)

  it('stops every write: no route changes anything while it takes nothing', async () => {
    const stage = await setStage(world)
    const visitor = world.unchecked(await world.admin(world.master))
    const before = await world.snapshot()
    const open = await closeFeed(world)
    try {
      for (const route of writingRoutes(world)) {
        const name = nameOf(route)
        const answer = await callRoute(visitor, route, stage, 'closed')
        const isIdle =
          [demotion, branding, installation, unassignment].includes(name) || isStop(name) || isPlan(name)
        const mayAnswer = name in storesNothing || name in needsMore || isIdle
        if (!mayAnswer) expect(answer.status, `${name}: ${answer.text}`).toBe(500)
        expect(differenceOf(before, await world.snapshot()), name).toEqual({ gone: [], new: [] })
      }
    } finally {
      await open()
      world.takeErrors()
    }
  })
})

describe('the code', () => {
  const root = join(import.meta.dirname, '../..')
  const sources = globSync('{src,bin}/**/*.ts', { cwd: root }).map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))
  const pathsWith = (pattern: RegExp) =>
    sources
      .filter(({ text }) => pattern.test(text))
      .map(({ path }) => path)
      .toSorted()

  it('hands a database only to the parts that make a store of it', () => {
    expect(pathsWith(/\bopen(Sqlite|Postgres)\b/)).toEqual([
      'src/commands/open-store.ts',
      'src/compose.ts',
      'src/storage/postgres.ts',
      'src/storage/sqlite.ts',
    ])
    const holders = pathsWith(/\bimport\b[^;]*?\bDatabase\b[^;]*?from '[^']*storage\/db\.ts'/)
    // The files of the feed receive commits and write nothing. A move closes the store that it copies, and
    // makes a store of the new database.
    expect(holders).toEqual([
      'src/commands/moving/fill.ts',
      'src/commands/moving/old-store.ts',
      'src/commands/open-store.ts',
      'src/compose.ts',
      'src/events/feed.ts',
      'src/events/sequencer.ts',
    ])
  })

  it('writes in one place', () => {
    expect(pathsWith(/\bdb\.write\(/)).toEqual(['src/storage/store.ts'])
    expect(pathsWith(/\bwriteOf\(/)).toEqual(['src/storage/store.ts'])
    expect(pathsWith(/INSERT INTO audit_log/)).toEqual([])
    expect(pathsWith(/\bauditLog\.append\(/)).toEqual(['src/storage/change-set.ts'])
    expect(pathsWith(/prepared\(placedAppend\)/)).toEqual(['src/storage/sqlite-writer.ts'])
  })
})
