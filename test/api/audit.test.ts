import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world.ts'

interface Entry {
  action: string
  before_doc: string
  after_doc: string
  author: string
}

describeEngines('the audit log', (engine) => {
  const world = useWorld(engine)

  const lastOf = async (accountId: string, kind: string, recordId: string) => {
    const entries = await world.server.store.all<Entry>(
      `SELECT action, before_doc, after_doc, author FROM audit_log
        WHERE account_id = $1 AND kind = $2 AND record_id = $3 ORDER BY id`,
      [accountId, kind, recordId],
    )
    const { action, before_doc, after_doc, author } = entries.at(-1) as Entry
    return {
      action,
      before: JSON.parse(before_doc),
      after: JSON.parse(after_doc),
      author: JSON.parse(author),
    }
  }

  it('tells what changed of an account that the record itself does not show', async () => {
    const { id, path } = await world.account()
    expect(await world.operator.put(`${path}/reseller`, {})).toSucceed()
    const promoted = await lastOf(id, 'account', id)
    expect(promoted).toMatchObject({
      action: 'edited',
      before: { is_reseller: false },
      after: { is_reseller: true },
    })
    expect(promoted.author.authUserId).toBe(world.operator.id)

    expect(await world.operator.patch(path, { enabled: false })).toSucceed()
    expect(await lastOf(id, 'account', id)).toMatchObject({
      before: { enabled: true },
      after: { enabled: false },
    })
  })

  it('tells that a secret changed, and not the secret', async () => {
    const account = await world.account()
    const user = await world.user(account, { username: 'sam', password: 'first-secret' })
    const path = `${account.path}/users/${user.id}`
    expect(await world.operator.patch(path, { username: 'sam', password: 'second-secret' })).toSucceed()
    const { before, after } = await lastOf(account.id, 'user', user.id)
    expect(after.password_fingerprint).toMatch(/^[0-9a-f]{8}$/)
    expect(after.password_fingerprint).not.toBe(before.password_fingerprint)
    expect(after.signature_fingerprint).not.toBe(before.signature_fingerprint)
    expect(JSON.stringify([before, after])).not.toContain('secret')
  })
})
