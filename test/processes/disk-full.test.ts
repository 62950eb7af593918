import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession } from '../support/world/session.ts'

// Blocks of 512 or 1024 bytes, as the shell has it: some megabytes more than an empty store has.
const blocks = 12_000
const maxDevices = 400

it('keeps what it acknowledged, and nothing else, when the disk takes no more in the middle of a write', async () => {
  const limited = await startServerProcess({}, undefined, { largestFileBlocks: blocks })
  const session = await openSession(limited)
  await freeRequests(session)
  const devices = `/v2/accounts/${session.masterId}/devices`
  const kept: string[] = []
  let refused = 0
  const isReady = async () => (await fetch(`${limited.url}/readyz`)).status === 200
  // Several at a time: they share a commit, and its fate. What is smaller may find room where a larger one did not.
  while ((await isReady()) && kept.length < maxDevices) {
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        session.admin.put(devices, { name: `Device ${kept.length + index}`, notes: 'n'.repeat(40_000) }),
      ),
    )
    for (const { status, data } of answers) {
      if (status === 201) kept.push(data.id)
      else {
        expect([503, 507]).toContain(status)
        refused += 1
      }
    }
  }
  expect(refused).toBeGreaterThan(0)
  expect(kept.length).toBeLessThan(maxDevices)
  expect((await fetch(`${limited.url}/healthz`)).status).toBe(200)
  expect((await session.admin.get(`${devices}/${kept[0]}`)).status).toBe(200)
  session.close()
  await limited.end('SIGKILL')

  const again = await startServerProcess({}, limited.dataDir)
  const { admin, close } = await openSession(again)
  const { data } = await admin.get(devices, { query: { paginate: 'false' } })
  expect(data.map(({ id }: { id: string }) => id).toSorted()).toEqual(kept.toSorted())
  expect((await admin.put(devices, { name: 'After' })).status).toBe(201)
  close()
  expect(await again.end()).toBe(0)
  const db = new DatabaseSync(join(limited.dataDir, 'crosspoint.db'))
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  db.close()
  removeDataDir(limited)
})
