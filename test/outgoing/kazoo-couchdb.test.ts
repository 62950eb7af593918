import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Patience } from '../../import-kazoo/source/connection.ts'
import { openSource } from '../../import-kazoo/source/open.ts'
import { DatabaseVanished, SourceTrouble } from '../../import-kazoo/source/source.ts'
import { dataSet, sampleNamed } from '../support/kazoo/data-set.ts'
import { followed, idsOf, readDocuments, readFile, readPages, readTexts } from '../support/kazoo/read-all.ts'
import { type KazooManners, startKazoo } from '../support/kazoo/stand-in.ts'
import { eventually } from '../support/run/eventually.ts'

const set = dataSet({ withForeignStorage: true })

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

const stage = async (manners: KazooManners = {}, databases: Parameters<typeof startKazoo>[0] = set) => {
  const kazoo = await startKazoo(databases, manners)
  const pauses: number[] = []
  endings.push(kazoo.close)
  /** Waits for nothing, and remembers how long it would have waited. */
  const patience = {
    pause: async (milliseconds: number) => void pauses.push(milliseconds),
    silenceMs: 60_000,
  }
  const open = async (other: Partial<Patience> = {}) => openSource(kazoo.url, { ...patience, ...other })
  return { kazoo, pauses, patience, open }
}

const many = (count: number) => ({
  database: 'ratedeck',
  documents: Array.from({ length: count }, (_, at) => ({
    id: `rate ${String(at).padStart(5, '0')}`,
    rev: '1-a',
    text: `{"_id":"rate ${String(at).padStart(5, '0')}","_rev":"1-a","rate_cost":5.0}`,
    files: [],
    losers: [],
  })),
})

const troubleOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof SourceTrouble ? error.message : `something else: ${error}`),
  )

const expected = new Map(
  [...set].flatMap(([database, samples]) =>
    samples
      .filter(({ id }) => !id.startsWith('_design/'))
      .map(({ id, text }): [string, string] => [`${database} ${id}`, text]),
  ),
)

describe.each([
  ['bigcouch', 'BigCouch 0.4.2'],
  ['couchdb1', 'CouchDB 1.6.1'],
  ['couchdb2', 'CouchDB 2.3.1'],
  ['couchdb3', 'CouchDB 3.3.3'],
] as const)('%s', (engine, title) => {
  it('is recognised by its own description', async () => {
    const { kazoo, open } = await stage({ engine })
    expect((await open()).facts).toEqual({ title: `${title} at ${kazoo.host}`, canFollow: true })
  })

  it('gives every document word for word, and no design documents', async () => {
    const { open } = await stage({ engine })
    const source = await open()
    expect(await source.databases()).toEqual([...set.keys()].sort())
    expect(await readTexts(source)).toEqual(expected)
  })

  it('returns the changes since the start of a copy, even if they come twice and in another order', async () => {
    const { kazoo, open } = await stage({ engine, areChangesShuffled: engine !== 'couchdb1' })
    const source = await open()
    const { sequence = '' } = (await source.database('alerts')) ?? {}
    const [before] = await readDocuments(source, 'alerts')
    kazoo.put('alerts', '{"_id":"new","limit":5.0}')
    kazoo.put('alerts', { _id: 'short', n: 1 })
    kazoo.put('alerts', { _id: 'other', n: 2 })
    kazoo.remove('alerts', 'short')
    kazoo.remove('alerts', before?.id ?? '')
    const { copy, sequence: reached } = await followed(source, 'alerts', sequence)
    const there = [...copy.values()].flatMap((document) => document ?? [])
    expect(there.map(({ id, text }) => [id, text.replace(/"1-\w+"/, '"1-x"')]).sort()).toEqual([
      ['new', '{"_id":"new","_rev":"1-x","limit":5.0}'],
      ['other', '{"_id":"other","_rev":"1-x","n":2}'],
    ])
    expect([...copy].filter(([, document]) => !document).map(([id]) => id)).toEqual(
      expect.arrayContaining(['short', before?.id]),
    )
    expect((await followed(source, 'alerts', reached)).copy.size).toBe(0)
  })

  it('gives the bytes of files, whatever their names', async () => {
    const { open } = await stage({ engine })
    const source = await open()
    for (const { database, id, files } of [...set.values()].flat())
      for (const { name, bytes } of files)
        expect(await readFile(source, database, id, name)).toBe(bytes.toString('utf8'))
    const { database, id } = sampleNamed('notice_plain')
    expect(await source.attachment({ database, id, name: 'nothing' }, 1)).toBeUndefined()
    expect(await source.attachment({ database, id: 'nobody', name: 'x' }, 1)).toBeUndefined()
  })
})

describe('A database', () => {
  it('is read in pages whose marks lead on, and not asked twice for the same', async () => {
    const { database, documents } = many(2500)
    const { open } = await stage({}, new Map([[database, documents]]))
    const source = await open()
    const pages = await readPages(source, database)
    expect(pages.map((page) => page.documents.length)).toEqual([1000, 1000, 500])
    expect(idsOf(pages.flatMap((page) => page.documents))).toEqual(documents.map(({ id }) => id))
    for (const [at, { mark }] of pages.entries())
      expect(await readPages(source, database, mark)).toEqual(pages.slice(at + 1))
  })

  it('leaves no unread response behind, neither of pages nor of changes', async () => {
    const text = 'x'.repeat(1_500_000)
    const documents = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => ({
      id,
      rev: '1-a',
      text: `{"_id":"${id}","_rev":"1-a","text":"${text}"}`,
      files: [],
      losers: [],
    }))
    const { kazoo, open } = await stage({}, new Map([['tasks', documents]]))
    const source = await open()
    for (const read of [() => source.pages('tasks'), () => source.changes('tasks', '0')]) {
      for await (const _ of read()) {
        expect(await kazoo.connections()).toBe(1)
        break
      }
      await eventually(kazoo.connections, (count) => count === 0)
    }
  })

  it('of large documents comes in pages that stay small', async () => {
    const text = 'x'.repeat(1_500_000)
    const documents = ['a', 'b', 'c', 'd', 'e'].map((id) => ({
      id,
      rev: '1-a',
      text: `{"_id":"${id}","_rev":"1-a","text":"${text}"}`,
      files: [],
      losers: [],
    }))
    const { open } = await stage({}, new Map([['tasks', documents]]))
    const pages = await readPages(await open(), 'tasks')
    expect(pages.map((page) => idsOf(page.documents))).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ])
  })

  it('returns its size and its conflicts, and is undefined when there is none', async () => {
    const { open } = await stage()
    const source = await open()
    const { database, id, text, losers } = sampleNamed('number_in_conflict')
    expect(await source.document(database, id)).toMatchObject({
      text,
      conflicts: losers.map(({ rev }) => rev),
    })
    expect(await source.database('alerts')).toEqual({
      documents: 1,
      bytes: 1000,
      sequence: expect.stringMatching(/^1-/),
    })
    expect(await source.database('nothing')).toBeUndefined()
    expect(await source.document('alerts', 'nothing')).toBeUndefined()
    expect(await source.document('nothing', 'nothing')).toBeUndefined()
  })

  it('that is deleted while it is read is reported as deleted', async () => {
    const { database, documents } = many(1500)
    const { kazoo, open } = await stage({}, new Map([[database, documents]]))
    const source = await open()
    const pages = source.pages(database)[Symbol.asyncIterator]()
    expect((await pages.next()).done).toBe(false)
    kazoo.removeDatabase(database)
    await expect(pages.next()).rejects.toThrow(DatabaseVanished)
  })
})

describe('After a fault', () => {
  it.each([500, 504, 'cut', 'row'] as const)('%s, a database is read on, nothing twice', async (fault) => {
    const { database, documents } = many(1200)
    const { kazoo, pauses, open } = await stage({}, new Map([[database, documents]]))
    const source = await open()
    let left = 3
    kazoo.faults.faultFor = ({ path }) => {
      if (path[1] !== '_all_docs' || left === 0) return undefined
      left -= 1
      return fault
    }
    expect(idsOf(await readDocuments(source, database))).toEqual(documents.map(({ id }) => id))
    const limits = kazoo.requests
      .filter(({ path }) => path[1] === '_all_docs')
      .map(({ query }) => query.get('limit'))
    expect(limits.slice(0, 4)).toEqual(['1000', '500', '250', '125'].slice(0, limits.length))
    expect(pauses).toHaveLength(3)
  })

  it('changes are read on', async () => {
    const { kazoo, open } = await stage()
    const source = await open()
    let left = 2
    kazoo.faults.faultFor = ({ path }) => {
      if (path[1] !== '_changes' || left === 0) return undefined
      left -= 1
      return 'cut'
    }
    const { copy } = await followed(source, 'services', '0')
    expect(copy.size).toBe(set.get('services')?.length)
  })

  it('a file is read on to its end', async () => {
    const { kazoo, open } = await stage()
    const { database, id, files } = sampleNamed('task_executing')
    let left = 2
    kazoo.faults.faultFor = ({ path }) => {
      if (path.length < 3 || left === 0) return undefined
      left -= 1
      return 'cut'
    }
    expect(await readFile(await open(), database, id, 'in.csv')).toBe(files[0]?.bytes.toString())
    expect(left).toBe(0)
  })

  it('tries are half a second to half a minute apart, and eight', async () => {
    const { kazoo, pauses, open } = await stage()
    const source = await open()
    kazoo.faults.faultFor = () => 504
    expect(await troubleOf(source.databases())).toBe(
      `${kazoo.host}: the list of databases could not be read: status 504`,
    )
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000])
  })

  it('that one document has each time, the others are read and it is reported', async () => {
    const { database, documents } = many(30)
    const { kazoo, open } = await stage({}, new Map([[database, documents]]))
    const source = await open()
    const bad = documents[12]?.id ?? ''
    kazoo.faults.faultFor = ({ path, query }) => {
      const after = query.get('startkey')
      const first = after === null ? 0 : documents.findIndex(({ id }) => id === JSON.parse(after)) + 1
      const behind = first + Number(query.get('limit') ?? 0)
      const isAsked = path[1] === '_all_docs' && query.has('include_docs') && first <= 12 && 12 < behind
      return isAsked ? 500 : undefined
    }
    const pages = await readPages(source, database)
    expect(idsOf(pages.flatMap((page) => page.documents))).toEqual(
      documents.map(({ id }) => id).filter((id) => id !== bad),
    )
    expect(pages.flatMap((page) => page.unreadable)).toEqual([{ id: bad, reason: 'status 500' }])
  })

  it('silence is not waited for longer than configured', async () => {
    const { kazoo, open } = await stage()
    const source = await open({ silenceMs: 500 })
    let left = 1
    kazoo.faults.faultFor = () => (left-- > 0 ? 'silent' : undefined)
    expect(await source.databases()).toEqual([...set.keys()].sort())
  })
})

describe('Credentials', () => {
  const credentials = { name: 'adm@in', password: 'p/ä:ss w%rd' }

  it.each(['basic', 'session'] as const)('in the address sign in, by %s, and are not shown', async (by) => {
    const { kazoo, open } = await stage({ credentials: { ...credentials, by }, sessionRequests: 5 })
    const source = await open()
    expect(await readTexts(source)).toEqual(expected)
    expect(source.facts.title).toBe(`CouchDB 3.3.3 at ${kazoo.host}`)
  })

  it('whose session ends while several databases are read sign in again', async () => {
    const { open } = await stage({ credentials: { ...credentials, by: 'session' }, sessionRequests: 40 })
    const source = await open()
    const names = await source.databases()
    for (const name of names.slice(0, 20)) await source.database(name)
    const read = await Promise.all(names.map((name) => source.database(name)))
    expect(read.map((facts) => facts?.documents)).toEqual(names.map((name) => set.get(name)?.length))
  })

  const secrets = [credentials.password, encodeURIComponent(credentials.password), credentials.name]

  const hasNone = (text: string) => {
    for (const secret of secrets) expect(text).not.toContain(secret)
    return text
  }

  it.each(['basic', 'session'] as const)(
    'that are wrong end it at once, by %s, without their words',
    async (by) => {
      const { kazoo, pauses } = await stage({ credentials: { ...credentials, password: 'another', by } })
      const url = `http://${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}@${kazoo.host}`
      expect(hasNone(await troubleOf(openSource(url)))).toBe(
        `${kazoo.host} does not accept this user name and password`,
      )
      expect(pauses).toEqual([])
    },
  )

  it('that are missing are asked for', async () => {
    const { kazoo } = await stage({ credentials: { ...credentials, by: 'basic' } })
    expect(await troubleOf(openSource(`http://${kazoo.host}`))).toBe(
      `${kazoo.host} requires a user name and a password: https://NAME:PASSWORD@${kazoo.host}`,
    )
  })

  it('are in no message, whatever goes wrong', async () => {
    const patience = { pause: async () => undefined }
    const signature = `${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}`
    const addresses = [
      `http://${signature}@127.0.0.1:1`,
      `https://${signature}@127.0.0.1:1/couch`,
      `http://${signature}@127.0.0.1:99999`,
      `ftp://${signature}@127.0.0.1`,
      `htp:/${signature}@127.0.0.1`,
      `${signature}@127.0.0.1:5984`,
      `http://adm%in:p%zz@127.0.0.1:1`,
    ]
    for (const address of addresses) {
      const error = await openSource(address, patience).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(SourceTrouble)
      if (!(error instanceof SourceTrouble)) continue
      expect(hasNone(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`)).not.toContain('p%zz')
    }
  })
})

describe('What is no CouchDB', () => {
  const answering = async (status: number, body: string, headers: Record<string, string> = {}) => {
    const server = createServer((_request, response) => response.writeHead(status, headers).end(body))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    endings.push(async () => {
      server.closeAllConnections()
      server.close()
    })
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it.each(['<html>secret</html>', '{"name":"another"}', '[]'])(
    'is reported as no CouchDB: %s',
    async (body) => {
      const host = await answering(200, body)
      expect(await troubleOf(openSource(`http://${host}`))).toBe(`${host} is not a CouchDB server`)
    },
  )

  it('or sends elsewhere is not followed', async () => {
    const host = await answering(301, '', { location: 'https://elsewhere.example/?key=secret' })
    expect(await troubleOf(openSource(`http://${host}`))).toBe(
      `${host} redirects: use the address that it redirects to`,
    )
  })

  it('or only the shards of a node is not read', async () => {
    const { open } = await stage({}, new Map([['shards/00000000-1fffffff/accounts.1393267', []]]))
    const source = await open()
    expect(await troubleOf(source.databases())).toContain('lists the shards of one node')
  })
})
