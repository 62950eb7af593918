import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { openSource } from '../../import-kazoo/source/open.ts'
import { SourceTrouble } from '../../import-kazoo/source/source.ts'
import { environment, nodeOptions } from '../../scripts/server-process.mjs'
import { dataSet, sampleNamed } from '../support/kazoo/data-set.ts'
import { type DumpForm, dumpForms } from '../support/kazoo/dumps.ts'
import { idsOf, readDocuments, readFile, readPages, readTexts } from '../support/kazoo/read-all.ts'
import { startKazoo } from '../support/kazoo/stand-in.ts'

const set = dataSet({ withForeignStorage: true })

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'kazoo-dump-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const dumped = async (form: DumpForm, databases: Parameters<typeof startKazoo>[0] = set) => {
  const kazoo = await startKazoo(databases)
  const folder = newFolder()
  await kazoo.dumpTo(folder, form)
  await kazoo.close()
  return folder
}

const opened = async (path: string) => {
  const source = await openSource(path)
  endings.push(source.close)
  return source
}

const expected = (textOf: (text: string) => string) =>
  new Map(
    [...set].flatMap(([database, samples]) =>
      samples
        .filter(({ id }) => !id.startsWith('_design/'))
        .map(({ id, text }): [string, string] => [`${database} ${id}`, textOf(text)]),
    ),
  )

const withoutRevision = (text: string) => text.replace(/"_rev":"[^"]*",/, '')

const troubleOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof SourceTrouble ? error.message : `something else: ${error}`),
  )

const carryNoFiles: readonly DumpForm[] = ['couchbackup', 'month archive', 'saved answer']

describe.each(dumpForms)('A dump as %s', (form) => {
  it('gives the same documents as the database that it was made of', async () => {
    const source = await opened(await dumped(form))
    expect(source.facts).toMatchObject({ canFollow: false })
    expect(await source.databases()).toEqual([...set.keys()].sort())
    expect(await readTexts(source)).toEqual(
      expected(form === 'php without revisions' ? withoutRevision : (text) => text),
    )
  })

  it('continues after every mark, also when it is opened again', async () => {
    const documents = Array.from({ length: 2300 }, (_, at) => {
      const id = `rate ${String(at).padStart(5, '0')}`
      return { id, rev: '1-a', text: `{"_id":"${id}","_rev":"1-a","rate_cost":5.0}`, files: [], losers: [] }
    })
    const folder = await dumped(form, new Map([['ratedeck', documents]]))
    const pages = await readPages(await opened(folder), 'ratedeck')
    expect(pages.length).toBeGreaterThan(2)
    expect(idsOf(pages.flatMap((page) => page.documents))).toEqual(documents.map(({ id }) => id))
    for (const [at, { mark }] of pages.entries())
      expect(idsOf(await readDocuments(await opened(folder), 'ratedeck', mark))).toEqual(
        idsOf(pages.slice(at + 1).flatMap((page) => page.documents)),
      )
  })

  it('gives single documents and what files it has', async () => {
    const source = await opened(await dumped(form))
    const { database, id } = sampleNamed('call_id_odd')
    expect(await source.document(database, id)).toMatchObject({ id })
    expect(await source.document(database, 'nothing')).toBeUndefined()
    expect(await source.document('nothing', id)).toBeUndefined()
    for (const sample of [...set.values()].flat())
      for (const { name, bytes } of sample.files)
        expect(await readFile(source, sample.database, sample.id, name)).toBe(
          carryNoFiles.includes(form) ? undefined : bytes.toString('utf8'),
        )
  })
})

describe('A dump', () => {
  it('that is packed is read as it is', async () => {
    const folder = await dumped('php')
    for (const name of readdirSync(folder)) {
      writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name))))
      rmSync(join(folder, name))
    }
    const source = await opened(folder)
    expect(await readTexts(source)).toEqual(expected((text) => text))
    const { database, id, files } = sampleNamed('task_executing')
    expect(await readFile(source, database, id, 'in.csv')).toBe(files[0]?.bytes.toString())
  })

  it('leaves nothing of what it unpacks', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('crosspoint-import-'))
    const source = await opened(await dumped('ndjson.gz'))
    await readTexts(source)
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('crosspoint-import-'))).toEqual(before)
  })

  it('may be one file with documents of databases mixed, the last revision of each counting', async () => {
    const path = join(newFolder(), 'all.ndjson')
    const lines = Array.from({ length: 3000 }, (_, at) => {
      const database = `ratedeck/${at % 3}`
      return `{"db":"${encodeURIComponent(database)}","doc":{"_id":"r${(at * 7) % 1001}","at":${at}.0}}\n`
    })
    writeFileSync(path, lines.join(''))
    const source = await opened(path)
    expect(await source.databases()).toEqual(['ratedeck/0', 'ratedeck/1', 'ratedeck/2'])
    const last = new Map<string, string>()
    for (const line of lines) {
      const { db, doc } = JSON.parse(line)
      last.set(`${decodeURIComponent(db)} ${doc._id}`, `{"_id":"${doc._id}","at":${doc.at}.0}`)
    }
    expect(await readTexts(source)).toEqual(last)
  })

  it('of which a revision is deleted at last has the document no more', async () => {
    const path = join(newFolder(), 'alerts.json')
    writeFileSync(path, '{"docs":[{"_id":"a","n":1},{"_id":"b"},{"_id":"a","_deleted":true}]}')
    expect(idsOf(await readDocuments(await opened(path), 'alerts'))).toEqual(['b'])
  })

  it('whose files are in folders next to it gives them, and nothing outside of its folder', async () => {
    const folder = newFolder()
    const stub = '{"content_type":"text/csv","length":4,"stub":true}'
    writeFileSync(join(folder, 'outside.csv'), 'no!!')
    mkdirSync(join(folder, 'dump', 'task1'), { recursive: true })
    writeFileSync(join(folder, 'dump', 'task1', 'in.csv'), 'a,b\n')
    writeFileSync(
      join(folder, 'dump', 'tasks.json'),
      `{"docs":[{"_id":"task1","_attachments":{"in.csv":${stub}}},{"_id":"..","_attachments":{"../outside.csv":${stub},"outside.csv":${stub}}}]}`,
    )
    const source = await opened(join(folder, 'dump'))
    expect(await readFile(source, 'tasks', 'task1', 'in.csv')).toBe('a,b\n')
    expect(await readFile(source, 'tasks', '..', '../outside.csv')).toBeUndefined()
    expect(await readFile(source, 'tasks', '..', 'outside.csv')).toBeUndefined()
  })

  it('whose files are inside its documents gives those that are small enough', async () => {
    const folder = newFolder()
    const file = (bytes: number) =>
      `{"content_type":"text/csv","length":${bytes},"data":"${Buffer.alloc(bytes, 'a').toString('base64')}"}`
    writeFileSync(
      join(folder, 'tasks.json'),
      `{"docs":[{"_id":"task1","_attachments":{"in.csv":${file(1000)},"out.csv":${file(1001)}}}]}`,
    )
    const source = await opened(folder)
    expect(await source.attachment({ database: 'tasks', id: 'task1', name: 'in.csv' }, 1000)).toBeInstanceOf(
      Buffer,
    )
    expect(await source.attachment({ database: 'tasks', id: 'task1', name: 'out.csv' }, 1000)).toBe(
      'too large',
    )
  })

  it('reports documents that cannot be read, without their words', async () => {
    const path = join(newFolder(), 'alerts.json')
    writeFileSync(path, '[{"_id":"good"},{"_id":"bad","password":secret},{"no":"id"}]')
    const [page] = await readPages(await opened(path), 'alerts')
    expect(page).toMatchObject({
      documents: [{ id: 'good' }],
      unreadable: [
        { id: 'bad', reason: 'it is not JSON, or has no id' },
        { id: 'at byte 48', reason: 'it is not JSON, or has no id' },
      ],
    })
  })

  it('that breaks off, is empty or of no known form is reported by its name', async () => {
    const folder = newFolder()
    const refusalOf = async (name: string, content: string | Buffer) => {
      writeFileSync(join(folder, name), content)
      const refusal = await troubleOf(opened(join(folder, name)).then((source) => readTexts(source)))
      rmSync(join(folder, name))
      return refusal
    }
    const whole = '{"docs":[{"_id":"a"},{"_id":"b"}]}'
    const breaksOff = (name: string) => `${name} is incomplete: the dump was interrupted`
    expect(await refusalOf('alerts.json', whole)).toBe('none')
    expect(await refusalOf('alerts.json', whole.slice(0, 25))).toBe(breaksOff('alerts.json'))
    expect(await refusalOf('alerts.json', whole.slice(0, -2))).toBe(breaksOff('alerts.json'))
    const packed = gzipSync(
      JSON.stringify({ docs: Array.from({ length: 5000 }, (_, at) => ({ _id: `${at * 7919}` })) }),
    )
    expect(await refusalOf('alerts.json.gz', packed.subarray(0, packed.length - 20))).toBe(
      breaksOff('alerts.json.gz'),
    )
    expect(await refusalOf('alerts.json', '')).toBe('alerts.json is empty: the dump was interrupted')
    expect(await refusalOf('alerts.json', '{"version":2}')).toBe('alerts.json has an unknown dump format')
    expect(await refusalOf('notes', 'Nothing here')).toBe(`${join(folder, 'notes')} contains no dump`)
    expect(await troubleOf(openSource(join(folder, 'missing')))).toBe(
      `there is no such file or folder: ${join(folder, 'missing')}`,
    )
    expect(await troubleOf(openSource('name:secret@host'))).toBe('there is no such file or folder')
  })

  it('does not change, so that nothing follows it', async () => {
    const source = await opened(await dumped('saved answer'))
    expect((await source.database('alerts'))?.sequence).toBeUndefined()
    expect(() => source.changes('alerts', '0')).toThrow('a dump does not change')
  })

  it('of any size is read in little memory', async () => {
    const path = join(newFolder(), 'ratedeck.json')
    const line = (at: number) => `,\n{"_id":"rate ${at}","text":"${'x'.repeat(2200)}"}`
    writeFileSync(path, '{"docs":[{"_id":"first"}')
    for (let part = 0; part < 100; part += 1)
      appendFileSync(path, Array.from({ length: 1000 }, (_, at) => line(part * 1000 + at)).join(''))
    appendFileSync(path, ']}')
    // The kernel's own mark, in kB: `maxRSS` of a process that was forked counts what its parent held.
    const program = `
      const { readFileSync } = await import('node:fs')
      const { openSource } = await import(${JSON.stringify(join(import.meta.dirname, '../../import-kazoo/source/open.ts'))})
      let count = 0
      for await (const { documents } of (await openSource(${JSON.stringify(path)})).pages('ratedeck')) count += documents.length
      const peak = /VmHWM:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]
      console.log(count, Math.round(peak / 1024))`
    // With the bounds that an import has.
    const said = execFileSync(process.execPath, [...nodeOptions, '--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, ...environment },
    })
    const [count = 0, megabytes = 0] = said.trim().split(' ').map(Number)
    expect(count).toBe(100_001)
    expect(megabytes).toBeLessThan(200)
  })
})
