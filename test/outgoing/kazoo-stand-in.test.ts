import { afterEach, describe, expect, it } from 'vitest'
import { openSource } from '../../import-kazoo/source/open.ts'
import { generatedSystem } from '../support/kazoo/generated.ts'
import { readPages } from '../support/kazoo/read-all.ts'
import { startKazoo } from '../support/kazoo/stand-in.ts'

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

const stage = async (databases: Parameters<typeof startKazoo>[0] = new Map()) => {
  const kazoo = await startKazoo(databases)
  endings.push(kazoo.close)
  const ask = async (method: string, path: string, body?: string, type = 'application/json') => {
    const response = await fetch(`${kazoo.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': type } }),
    })
    return { status: response.status, text: await response.text() }
  }
  return { kazoo, ask }
}

const database = '/account%2Faa%2Fbb%2Fcc'

describe('The stand-in takes in over HTTP', () => {
  it('databases and documents with their revisions, their numbers as they are', async () => {
    const { kazoo, ask } = await stage()
    expect((await ask('POST', `${database}/_bulk_docs`, '{"docs":[]}')).status).toBe(404)
    expect((await ask('PUT', database)).status).toBe(201)
    expect((await ask('PUT', database)).status).toBe(412)
    const docs =
      '{"new_edits":false,"docs":[{"_id":"limits","_rev":"3-abc","a":5.0,"b":5},{"_id":"gone","_rev":"2-a","_deleted":true}]}'
    expect(await ask('POST', `${database}/_bulk_docs`, docs)).toEqual({ status: 201, text: '[]\n' })
    expect(kazoo.text('account/aa/bb/cc', 'limits')).toBe('{"_id":"limits","_rev":"3-abc","a":5.0,"b":5}')
    expect((await ask('GET', `${database}/limits`)).text).toBe(
      '{"_id":"limits","_rev":"3-abc","a":5.0,"b":5}',
    )
    expect(JSON.parse((await ask('GET', `${database}/gone`)).text)).toEqual({
      error: 'not_found',
      reason: 'deleted',
    })
    expect(JSON.parse((await ask('GET', `${database}/never`)).text)).toEqual({
      error: 'not_found',
      reason: 'missing',
    })
    expect(JSON.parse((await ask('GET', database)).text)).toMatchObject({ doc_count: 1 })
  })

  it('the same again without a change, another revision as a conflict of which the higher wins', async () => {
    const { ask } = await stage()
    await ask('PUT', database)
    const take = (rev: string, n: number) =>
      ask(
        'POST',
        `${database}/_bulk_docs`,
        `{"new_edits":false,"docs":[{"_id":"a","_rev":"${rev}","n":${n}}]}`,
      )
    await take('2-b', 1)
    const { text: once } = await ask('GET', database)
    await take('2-b', 1)
    expect((await ask('GET', database)).text).toBe(once)
    await take('2-c', 2)
    await take('1-z', 3)
    expect(JSON.parse((await ask('GET', `${database}/a?conflicts=true`)).text)).toEqual({
      _id: 'a',
      _rev: '2-c',
      n: 2,
      _conflicts: ['2-b', '1-z'],
    })
  })

  it('edits of the revision that is there, and refuses others', async () => {
    const { ask } = await stage()
    await ask('PUT', database)
    const { rev } = JSON.parse((await ask('PUT', `${database}/a%2Fb`, '{"n":1.0}')).text)
    expect((await ask('PUT', `${database}/a%2Fb`, '{"n":2}')).status).toBe(409)
    const again = JSON.parse((await ask('PUT', `${database}/a%2Fb`, `{"_rev":"${rev}","n":3}`)).text)
    expect(again).toEqual({ ok: true, id: 'a/b', rev: expect.stringMatching(/^2-/) })
    expect((await ask('DELETE', `${database}/a%2Fb?rev=${again.rev}`)).status).toBe(201)
    expect((await ask('GET', `${database}/a%2Fb`)).status).toBe(404)
  })

  it('files, inline or separately', async () => {
    const { ask } = await stage()
    await ask('PUT', database)
    await ask(
      'POST',
      `${database}/_bulk_docs`,
      '{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a","_attachments":{"in.csv":{"content_type":"text/csv","data":"YSxi"}}}]}',
    )
    expect((await ask('GET', `${database}/a/in.csv`)).text).toBe('a,b')
    expect((await ask('PUT', `${database}/a/template.text%2Fhtml`, '<p>', 'text/html')).status).toBe(201)
    expect((await ask('GET', `${database}/a/template.text%2Fhtml`)).text).toBe('<p>')
    expect((await ask('GET', `${database}/a/in.csv`)).text).toBe('a,b')
  })
})

describe('A generated system', () => {
  const size = { accounts: 30, users: 100, numbers: 1500, calls: 3000, months: 4, rates: 50 }

  it('has the requested number of documents, the same ones each time', async () => {
    const read = async () => {
      const { kazoo } = await stage(generatedSystem(size))
      const source = await openSource(kazoo.url)
      const kinds = new Map<string, number>()
      const texts: string[] = []
      for (const name of await source.databases()) {
        const pages = await readPages(source, name)
        const documents = pages.flatMap((page) => page.documents)
        expect(documents.length).toBe((await source.database(name))?.documents)
        for (const { text, fields } of documents) {
          texts.push(text)
          const kind = String(fields?.pvt_type)
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        }
      }
      return { kinds, texts }
    }
    const { kinds, texts } = await read()
    expect(Object.fromEntries(kinds)).toEqual({
      account: 60,
      cdr: 3000,
      config: 1,
      device: 100,
      ledger: 480,
      limits: 30,
      number: 3000,
      rate: 50,
      service: 30,
      user: 100,
    })
    expect((await read()).texts).toEqual(texts)
  })
})
