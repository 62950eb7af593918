import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world/world.ts'

interface Entry {
  action: string
  before_doc: string | null
  after_doc: string | null
  changes: string | null
  record_name: string | null
  author: string
}

describeEngines('the audit log', (engine) => {
  const world = useWorld(engine)

  const entriesOf = async (accountId: string, kind: string, recordId: string) => {
    const entries = await world.server.store.all<Entry>(
      `SELECT action, before_doc, after_doc, changes, record_name, author FROM audit_log
        WHERE account_id = $1 AND kind = $2 AND record_id = $3 ORDER BY id`,
      [accountId, kind, recordId],
    )
    return entries.map(({ author, changes, ...entry }) => ({
      ...entry,
      changes: changes === null ? null : JSON.parse(changes),
      author: JSON.parse(author),
    }))
  }

  const lastOf = async (accountId: string, kind: string, recordId: string) => {
    const entry = (await entriesOf(accountId, kind, recordId)).at(-1)
    if (!entry) throw new Error('there is no entry')
    return entry
  }

  it('keeps a record as it was made, then what differs, then the deleted record', async () => {
    const { id: accountId } = world.acme
    const { id, path } = await world.device(world.acme, { name: 'Hall', note: 'x'.repeat(2000) })
    expect(
      await world.ada.patch(path, { name: 'Lobby', caller_id: { internal: { name: 'Ada' } } }),
    ).toSucceed()
    expect(await world.ada.patch(path, { caller_id: { internal: { name: null } } })).toSucceed()
    expect(await world.ada.delete(path)).toSucceed()
    const entries = await entriesOf(accountId, 'device', id)
    // As long as events are kept.
    const whole = { before_doc: expect.any(String), after_doc: expect.any(String) }
    expect(entries.map(({ author, ...entry }) => entry)).toEqual([
      {
        before_doc: null,
        action: 'created',
        after_doc: expect.any(String),
        changes: null,
        record_name: null,
      },
      {
        ...whole,
        action: 'edited',
        record_name: 'Lobby',
        changes: [
          { path: 'name', from: 'Hall', to: 'Lobby' },
          { path: 'caller_id.internal.name', to: 'Ada' },
        ],
      },
      {
        ...whole,
        action: 'edited',
        record_name: 'Lobby',
        changes: [{ path: 'caller_id.internal.name', from: 'Ada' }],
      },
      {
        before_doc: expect.any(String),
        after_doc: null,
        action: 'deleted',
        changes: null,
        record_name: 'Lobby',
      },
    ])
    expect(entries[3]?.before_doc).toBe(entries[2]?.after_doc)
    expect(JSON.parse(String(entries[0]?.after_doc))).toMatchObject({ name: 'Hall', note: 'x'.repeat(2000) })
  })

  it('records changes of an account that the record itself does not show', async () => {
    const { id, path } = await world.account()
    expect(await world.operator.put(`${path}/reseller`, {})).toSucceed()
    const promoted = await lastOf(id, 'account', id)
    expect(promoted.changes).toContainEqual({ path: 'is_reseller', from: false, to: true })
    expect(promoted.author.authUserId).toBe(world.operator.id)

    expect(await world.operator.patch(path, { enabled: false })).toSucceed()
    expect((await lastOf(id, 'account', id)).changes).toContainEqual({
      path: 'enabled',
      from: true,
      to: false,
    })
  })

  it('shows that a password or a key changed as ***, also when an old password returns', async () => {
    const account = await world.account()
    const user = await world.user(account, { username: 'sam', password: 'first-secret' })
    const path = `${account.path}/users/${user.id}`
    for (const password of ['second-secret', 'first-secret', 'second-secret'])
      expect(await world.operator.patch(path, { username: 'sam', password })).toSucceed()
    const changed = (name: string) => ({ path: name, from: '***', to: '***' })
    const edits = (await entriesOf(account.id, 'user', user.id)).slice(1)
    expect(edits.map(({ changes, record_name: name }) => [changes, name])).toEqual(
      edits.map(() => [[changed('password'), changed('signature_secret')], 'sam']),
    )
    expect(edits).toHaveLength(3)
    // Nothing else shows it either.
    const { before_doc: before, after_doc: after } = edits[0] ?? {}
    expect([before, edits[1]?.before_doc, edits[2]?.before_doc]).toEqual([after, before, before])
    expect(JSON.parse(String(after))).toMatchObject({ password: '***', signature_secret: '***' })

    expect(await world.operator.put(`${account.path}/api_key`, {})).toSucceed()
    expect((await lastOf(account.id, 'account', account.id)).changes).toEqual([changed('api_key')])
  })
})
