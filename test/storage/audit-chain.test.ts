import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createVerification } from '../../src/commands/verification/audit.sql.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

describeEngines('the chain of the audit', (engine) => {
  const world = useWorld(engine)

  const run = (sql: string, params: readonly Value[]) => world.server.store.writeUnrecorded([{ sql, params }])

  const rowsOf = async ({ id, path }: TestAccount) => {
    // A reader of the audit log waits until every entry has its place.
    expect(await world.operator.get(`${path}/audit`)).toSucceed()
    return world.server.store.all<Row>(
      "SELECT * FROM audit_log WHERE account_id = $1 AND action <> 'happened' ORDER BY sequence",
      [id],
    )
  }

  const verified = () => createVerification(world.server.store).all(() => undefined)

  /** An account with a history, and its entries as stored. */
  const withHistory = async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { name: 'Phone 0' })
    for (let turn = 1; turn <= 5; turn += 1)
      expect(
        await world.operator.patch(device.path, { name: `Phone ${turn}`, note: 'x'.repeat(turn) }),
      ).toSucceed()
    expect(await world.operator.delete(device.path)).toSucceed()
    return { account, rows: await rowsOf(account) }
  }

  const put = (row: Row) => {
    const names = Object.keys(row)
    const places = names.map((_, index) => `$${index + 1}`)
    return run(
      `INSERT INTO audit_log (${names.join(', ')}) VALUES (${places.join(', ')})`,
      names.map((name) => row[name] as Value),
    )
  }

  const remove = ({ account_id, id }: Row) =>
    run('DELETE FROM audit_log WHERE account_id = $1 AND id = $2', [account_id as string, id as string])

  const set = (row: Row, column: string, value: Value) =>
    run(`UPDATE audit_log SET ${column} = $3 WHERE account_id = $1 AND id = $2`, [
      row.account_id as string,
      row.id as string,
      value,
    ])

  /** The output of the verifier while the store is changed; the change is undone afterwards. */
  const faultsWhile = async (act: () => Promise<void>, undo: () => Promise<void>) => {
    await act()
    try {
      return (await verified()).faults
    } finally {
      await undo()
    }
  }

  it('is sound whatever was done, by however many at once', async () => {
    const accounts = await Promise.all([1, 2, 3].map(() => world.account(world.reseller)))
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => world.device(accounts[index % 3] as TestAccount)),
    )
    for (const account of accounts) await rowsOf(account)
    const { faults, accounts: count, entries } = await verified()
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(5)
    expect(entries).toBeGreaterThan(60)
  })

  it('is looked at while it grows', async () => {
    const { account } = await withHistory()
    const writing = Promise.all(Array.from({ length: 80 }, () => world.device(account).then(() => undefined)))
    let isDone = false
    const ended = writing.finally(() => {
      isDone = true
    })
    do expect((await verified()).faults).toEqual([])
    while (!isDone)
    await ended
  })

  it('detects one flipped bit of any value in an entry', async () => {
    const { account, rows } = await withHistory()
    const columns = [
      'at',
      'action',
      'kind',
      'record_id',
      'author',
      'actor_id',
      'record_name',
      'event',
      'tree',
    ]
    columns.push('changes', 'after_doc', 'digest', 'previous_digest', 'id')
    const told = rows.flatMap((row) =>
      columns
        .filter((column) => row[column] !== null && (column !== 'after_doc' || row.changes === null))
        .map((column) => ({ row, column })),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...told), fc.nat(), fc.nat(3), async ({ row, column }, at, bit) => {
        const stored = row[column]
        const text = String(stored)
        const place = at % text.length
        const flipped =
          typeof stored === 'number'
            ? Number(BigInt(stored) ^ (1n << BigInt(bit)))
            : text.slice(0, place) +
              String.fromCharCode(text.charCodeAt(place) ^ (1 << bit)) +
              text.slice(place + 1)
        const altered = column === 'id' ? { ...row, id: flipped } : row
        const faults = await faultsWhile(
          () => set(row, column, flipped as Value),
          () => set(altered, column, stored as Value),
        )
        expect(faults).toMatchObject([{ accountId: account.id, entryId: altered.id }])
      }),
      { numRuns: countOf(10, 40) },
    )
  })

  it('misses an entry that was removed: the first, one between and the last', async () => {
    const { account, rows } = await withHistory()
    for (const [index, row] of rows.entries()) {
      const next = rows[index + 1]
      const faults = await faultsWhile(
        () => remove(row),
        () => put(row),
      )
      expect(faults, `entry ${index}`).toEqual([
        next
          ? { accountId: account.id, entryId: next.id, sequence: next.sequence, reason: expect.any(String) }
          : { accountId: account.id, entryId: undefined, sequence: row.sequence, reason: 'was removed' },
      ])
    }
  })

  it('misses all entries of an account together', async () => {
    const { account, rows } = await withHistory()
    const faults = await faultsWhile(
      () => run('DELETE FROM audit_log WHERE account_id = $1', [account.id]),
      async () => {
        for (const row of rows) await put(row)
      },
    )
    expect(faults).toMatchObject([{ accountId: account.id, reason: 'was removed' }])
  })

  it('finds an entry that was put in, and two that changed places', async () => {
    const { account, rows } = await withHistory()
    const [second, third] = [rows[1] as Row, rows[2] as Row]
    const [{ sequence } = { sequence: 0 }] = await world.server.store.all<{ sequence: number }>(
      'SELECT max(sequence) AS sequence FROM audit_log',
    )
    const forged: Row = { ...third, id: 'f'.repeat(32), sequence: Number(sequence) + 1000 }
    if (engine === 'postgres') forged.position = 1_000_000_000
    expect(
      await faultsWhile(
        () => put(forged),
        () => remove(forged),
      ),
    ).toMatchObject([{ accountId: account.id, entryId: forged.id }])
    const move = async (first: Row, other: Row) => {
      await set(first, 'sequence', Number(sequence) + 2000)
      await set(other, 'sequence', first.sequence as Value)
      await set(first, 'sequence', other.sequence as Value)
    }
    const faults = await faultsWhile(
      () => move(second, third),
      async () => {
        await set(second, 'sequence', Number(sequence) + 2000)
        await set(third, 'sequence', third.sequence as Value)
        await set(second, 'sequence', second.sequence as Value)
      },
    )
    expect(faults).toMatchObject([{ accountId: account.id, entryId: third.id }])
    expect((await verified()).faults).toEqual([])
  })
})
