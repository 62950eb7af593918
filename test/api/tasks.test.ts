import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { mailsTo, subjectOf, textOf } from '../support/servers/outbox.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const csvType = { 'content-type': 'text/csv' }
const importing = 'category=rates&action=import'
const exporting = 'category=rates&action=export'
const finding = 'category=number_management&action=find'

const badCsv = {
  csv: { format: { message: 'Empty CSV or some row(s) longer than others or header missing' } },
}

describeEngines('tasks', (engine) => {
  const world = useWorld(engine)

  const putCsv = (
    by: Client,
    account: TestAccount,
    query: string,
    body: string | Buffer,
    type = 'text/csv',
  ) =>
    by.put(`${account.path}/tasks?${query}`, undefined, {
      body: Buffer.from(body as string),
      headers: { 'content-type': type },
    })

  const pathOf = ({ body: { metadata } }: Answer) =>
    `/v2/accounts/${metadata.account_id}/tasks/${metadata.id}`

  const ended = (path: string) =>
    eventually(
      async () => (await world.operator.get(path)).body.metadata,
      ({ status }) => status !== 'executing' && status !== 'pending',
    )

  /** Makes a task of the master account, starts it and waits for its end. */
  const finish = async (query: string, csv?: string) => {
    const made = csv
      ? await putCsv(world.operator, world.master, query, csv)
      : await world.operator.put(`${world.master.path}/tasks?${query}`)
    expect(made).toSucceedWith({})
    expect(await world.operator.patch(pathOf(made))).toSucceedWith({})
    return { path: pathOf(made), task: await ended(pathOf(made)) }
  }

  /** Started tasks wait for as long as `work` lasts. */
  const whileNothingRuns = async (work: () => Promise<void>) => {
    await world.configure('tasks', { max_running: 0 })
    try {
      await work()
    } finally {
      await world.configure('tasks', { max_running: 4 })
    }
  }

  const rateFile = (prefixes: readonly (string | number)[]) =>
    ['prefix,rate_cost', ...prefixes.map((prefix) => `${prefix},0.1`)].join('\n')

  describe('help', () => {
    it('is public: categories, actions, and the fields of each', async () => {
      const answer = await world.anonymous.get('/v2/tasks')
      expect(answer).toSucceed()
      expect(Object.keys(answer.data.tasks)).toEqual(expect.arrayContaining(['rates']))
      expect(Object.keys(answer.data.tasks.rates).sort()).toEqual(['delete', 'export', 'import'])
      expect(answer.data.tasks.rates.import).toEqual({
        description: 'Bulk-import rates to a ratedeck',
        doc: expect.stringContaining('\n'),
        expected_content: 'text/csv',
        mandatory: ['prefix', 'rate_cost'],
        optional: expect.arrayContaining(['direction', 'ratedeck_id', 'weight']),
      })
      expect(Object.keys(answer.data.tasks.rates.export).sort()).toEqual(['description', 'doc'])
    })

    it('names columns in lower case, each once', async () => {
      const { tasks } = (await world.anonymous.get('/v2/tasks')).data
      const actions = Object.values(tasks).flatMap((category) => Object.values(category as Json)) as Json[]
      expect(actions.length).toBeGreaterThan(20)
      for (const { mandatory = [], optional = [] } of actions) {
        const columns = [...(mandatory as string[]), ...(optional as string[])]
        expect(columns).toEqual([...new Set(columns.map((name) => name.toLowerCase()))])
      }
    })

    it('can be asked for one category or one action', async () => {
      const category = await world.anonymous.get('/v2/tasks?category=rates')
      expect(Object.keys(category.data.tasks)).toEqual(['rates'])
      const action = await world.anonymous.get('/v2/tasks?category=rates&action=export')
      const help = { description: 'Export the default ratedeck', doc: expect.any(String) }
      expect(action.data.tasks).toEqual({ rates: { export: help }, export: help })
    })

    it.each(['category=nope&action=x', 'category=rates&action=nope', 'category=nope', 'action=export'])(
      'is refused for %s',
      async (query) => {
        const answer = await world.anonymous.get(`/v2/tasks?${query}`)
        expect(answer).toFailWith(500, 'invalid request', { message: 'invalid request' })
      },
    )
  })

  describe('being made', () => {
    it('answers 201 with the record in the metadata', async () => {
      const before = await world.operator.get(`${world.master.path}/tasks`)
      const answer = await putCsv(
        world.operator,
        world.master,
        `${importing}&file_name=deck.csv`,
        rateFile([1, 44]),
      )
      expect(answer).toSucceedWith({})
      const created = 63_934_833_600
      expect(answer.body.metadata).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        account_id: world.master.id,
        auth_account_id: world.master.id,
        category: 'rates',
        action: 'import',
        status: 'pending',
        file_name: 'deck.csv',
        created,
        submit_timestamp: created,
        total_count: 2,
        csvs: ['in.csv'],
      })
      expect(answer.headers.location).toBe(pathOf(answer))
      const read = await world.operator.get(pathOf(answer))
      expect(read).toSucceedWith({})
      expect(read.body.metadata).toEqual(answer.body.metadata)
      const after = await world.operator.get(`${world.master.path}/tasks`)
      expect(after.data).toEqual([answer.body.metadata, ...before.data])
    })

    it.each([
      ['no query', ''],
      ['no action', 'category=rates'],
      ['an empty category', 'category=&action=import'],
    ])('is refused with %s', async (_what, query) => {
      const answer = await world.unchanged(() => putCsv(world.operator, world.master, query, rateFile([1])))
      expect(answer).toFailWith(500, 'invalid request', { message: 'invalid request' })
    })

    it.each([
      ['category=rates&action=nope', 'nope'],
      ['category=nope&action=import', 'nope'],
    ])('is refused for the unknown %s', async (query, value) => {
      const answer = await world.operator.put(`${world.master.path}/tasks?${query}`)
      expect(answer).toFailWith(404, 'bad identifier', [value])
      const withBody = await putCsv(world.operator, world.master, query, rateFile([1]))
      expect(withBody).toFailWith(404, 'bad identifier', [value])
    })

    it.each([
      ['rows of unequal length', 'a,b,c\n1\n2\n3'],
      ['a header alone', 'prefix,rate_cost'],
      ['one line', 'abc'],
      ['nothing', ''],
      ['line ends only', '\r\n\n'],
      ['a header with an empty cell between others', 'prefix,,rate_cost\n1,2,3'],
      ['a last row that is longer', 'prefix,rate_cost\n1,2\n1,2,3'],
    ])('is refused for a CSV of %s', async (_what, csv) => {
      const answer = await world.unchanged(() => putCsv(world.operator, world.master, importing, csv))
      expect(answer).toFailWith(500, 'invalid request', badCsv)
    })

    it.each([
      ['semicolons and decimal commas', 'prefix;rate_cost\n49;0,02\n', 'commas'],
      ['semicolons, decimal commas and a byte order mark', '\ufeffprefix;rate_cost\r\n49;0,02\r\n', 'commas'],
      ['tabs and decimal commas', 'prefix\trate_cost\n49\t0,02\n', 'commas'],
      ['an empty column at the end', 'prefix,rate_cost,\n49,0.02,\n', 'columns'],
      ['several empty columns at the end', 'prefix,rate_cost,,,\n49,0.02,,,\n', 'columns'],
      ['empty columns in its rows alone', 'prefix,rate_cost\n1,0.02\n49,0.02,,\n', 'columns'],
    ] as const)('with %s is refused with what to change in it', async (_what, csv, hint) => {
      const answer = await world.refused(() => putCsv(world.operator, world.master, importing, csv))
      const hints = {
        commas: 'cells must be separated by commas, and numbers must have a decimal point',
        columns: 'remove the empty columns at the end of its lines',
      }
      const message = `${badCsv.csv.format.message}: ${hints[hint]}`
      expect(answer).toFailWith(500, 'invalid request', { csv: { format: { message } } })
    })

    it('reports a malformed CSV before an unknown action', async () => {
      const answer = await putCsv(world.operator, world.master, 'category=rates&action=nope', 'a,b\n1')
      expect(answer).toFailWith(500, 'invalid request', badCsv)
    })

    it.each([
      ['a quote that is not closed', 'prefix,rate_cost\n1,"2', 'a quote is not closed'],
      ['text behind a quote', 'prefix,rate_cost\n"1"x,2', 'text follows a closing quote'],
      [
        'quoted cells with semicolons between them',
        '"prefix";"rate_cost"\n"49";"0,02"',
        'cells must be separated by commas, and numbers must have a decimal point',
      ],
      [
        'letters of another encoding',
        Buffer.from('prefix,rate_cost,description\r\n1,2,"two\r\nlines"\r\n44,3,M\xfcnchen\r\n', 'latin1'),
        'line 4 is not UTF-8: save the file as UTF-8',
      ],
      [
        'a file that ends within a letter',
        Buffer.from('prefix,rate_cost,description\n1,2,Zür', 'utf8').subarray(0, -2),
        'line 2 is not UTF-8: save the file as UTF-8',
      ],
    ])('is refused for %s', async (_what, csv, message) => {
      const answer = await putCsv(world.operator, world.master, importing, csv)
      expect(answer).toFailWith(500, 'invalid request', {
        csv: { format: { message: `The CSV is malformed and cannot be processed: ${message}` } },
      })
    })

    it('takes line ends of all kinds, a byte order mark and blank lines, and keeps every byte', async () => {
      const csv = '\ufeffprefix,rate_cost,description\r\n1,0.1,"two\r\nlines"\r44,0.2,\n\r\n49,0.3,""\n\n\n'
      const made = await putCsv(world.operator, world.master, importing, csv)
      expect(made.body.metadata.total_count).toBe(3)
      const input = await world.operator.get(`${pathOf(made)}/input`)
      expect(input.text).toBe(csv)
      expect(input.headers['content-type']).toBe('text/csv')
      expect(input.headers['content-disposition']).toBe(
        `attachment; filename="rates_import_${made.body.metadata.id}_in.csv"`,
      )
    })

    it.each(['text/csv; charset=utf-8', 'text/comma-separated-values', 'application/octet-stream'])(
      'takes CSV as %s',
      async (type) => {
        expect(await putCsv(world.operator, world.master, importing, rateFile([1]), type)).toSucceed()
      },
    )

    it('may come as base64 or as a data URL, which are undone as they stream', async () => {
      const csv = rateFile(Array.from({ length: 20_000 }, (_, prefix) => prefix + 1))
      const base64 = Buffer.from(csv).toString('base64').replace(/.{76}/g, '$&\r\n')
      const put = (body: string, more: Record<string, string> = {}) =>
        world.operator.put(`${world.master.path}/tasks?${importing}`, undefined, {
          body: Buffer.from(body),
          headers: { ...csvType, ...more },
        })
      const encoded = { 'content-transfer-encoding': 'base64' }
      for (const made of [await put(base64, encoded), await put(`data:text/csv;base64,${base64}`)]) {
        expect(made.body.metadata).toMatchObject({ total_count: 20_000 })
        expect((await world.operator.get(`${pathOf(made)}/input`)).text).toBe(csv)
      }
      for (const bad of [`${base64}=a`, `${base64}%`, `a===`])
        expect(await world.unchanged(() => put(bad, encoded))).toBreak({ file: ['encoding'] })
    })

    it('takes no other content', async () => {
      const answer = await putCsv(world.operator, world.master, importing, rateFile([1]), 'text/plain')
      expect(answer).toFailWith(415, 'unsupported_media_type')
    })

    it('reports missing, unknown and empty columns together', async () => {
      const header = await putCsv(world.operator, world.master, importing, 'weight,colour\n1,red')
      expect(header).toFailWith(500, 'invalid request', {
        attachment: {
          type: { missing_mandatory_fields: ['prefix', 'rate_cost'], unknown_fields: ['colour'] },
        },
      })
      const values = await world.unchanged(() =>
        putCsv(
          world.operator,
          world.master,
          importing,
          'prefix,rate_cost,colour\n1,0.1,x\n,0.2,"a,b"\n44,"",\n',
        ),
      )
      expect(values).toFailWith(500, 'invalid request', {
        attachment: {
          type: { unknown_fields: ['colour'], missing_mandatory_values: [',0.2,"a,b"', '44,"",'] },
        },
      })
    })

    it('wants input where the action works on rows, and none where it does not', async () => {
      const none = await world.operator.put(`${world.master.path}/tasks?${importing}`)
      expect(none).toFailWith(500, 'invalid request', {
        attachment: {
          type: { missing_mandatory_fields: ['prefix', 'rate_cost'], expected_content: 'text/csv' },
        },
      })
      const empty = await world.operator.put(`${world.master.path}/tasks?${importing}`, { records: [] })
      expect(empty).toFailWith(500, 'invalid request', none.data)
      const some = await putCsv(world.operator, world.master, exporting, 'a\n1')
      expect(some).toFailWith(500, 'invalid request', { attachment: { type: { expected_content: 'none' } } })
      const records = await world.operator.put(`${world.master.path}/tasks?${exporting}`, {
        records: [{ a: 1 }],
      })
      expect(records).toFailWith(500, 'invalid request', some.data)
    })

    it('wants the columns and cells of the action asked for', async () => {
      const put = (action: string, csv: string) =>
        putCsv(world.ada, world.acme, `category=number_management&action=${action}`, csv)
      const id = 'a'.repeat(32)
      expect(await put('find', `account_id\n${id}`)).toFailWith(500, 'invalid request', {
        attachment: { type: { missing_mandatory_fields: ['e164'], unknown_fields: ['account_id'] } },
      })
      expect(await put('assign_to', `account_id,e164\n,+14157215234\n${id},`)).toFailWith(
        500,
        'invalid request',
        {
          attachment: { type: { missing_mandatory_values: [`${id},`] } },
        },
      )
      const listing = await put('list', 'e164\n+14157215234')
      expect(listing).toFailWith(500, 'invalid request', {
        attachment: { type: { expected_content: 'none' } },
      })
      const bare = await world.ada.put(`${world.acme.path}/tasks?category=number_management&action=find`)
      expect(bare).toFailWith(500, 'invalid request', {
        attachment: { type: { missing_mandatory_fields: ['e164'], expected_content: 'text/csv' } },
      })
    })

    it('takes JSON records: the input has the columns of all of them', async () => {
      const records = [
        { rate_cost: 0.5, prefix: 1, description: 'a "b", c' },
        { prefix: '44', rate_cost: '0.25', weight: 7, carrier: '' },
      ]
      const made = await world.operator.put(`${world.master.path}/tasks?${importing}`, {
        records,
        file_name: 'records.json',
      })
      expect(made.body.metadata).toMatchObject({
        total_count: 2,
        file_name: 'records.json',
        csvs: ['in.csv'],
      })
      expect((await world.operator.get(`${pathOf(made)}/input`)).text).toBe(
        'carrier,description,prefix,rate_cost,weight\r\n"","a ""b"", c",1,0.5,""\r\n"","",44,0.25,7\r\n',
      )
    })

    it('validates JSON records as rows', async () => {
      const put = (records: Json[]) =>
        world.operator.put(`${world.master.path}/tasks?${importing}`, { records })
      expect(await put([{ prefix: 1 }, { prefix: 2, rate_cost: 1 }])).toFailWith(500, 'invalid request', {
        attachment: { type: { missing_mandatory_fields: ['rate_cost'], missing_mandatory_values: ['1,""'] } },
      })
      expect(await put([{ prefix: 1, rate_cost: 1, colour: 'red' }])).toFailWith(500, 'invalid request', {
        attachment: { type: { unknown_fields: ['colour'] } },
      })
      for (const records of [[{}], [{}, {}], [{ prefix: null }]])
        expect(await world.unchanged(() => put(records))).toFailWith(500, 'invalid request', {
          attachment: { type: { missing_mandatory_fields: ['prefix', 'rate_cost'] } },
        })
      expect(await put([1 as unknown as Json])).toBreak({ 'records.0': ['type'] })
    })

    it('is refused to callers who may not use the action', async () => {
      const answer = await world.unchanged(() => putCsv(world.ada, world.acme, importing, rateFile([1])))
      expect(answer).toFailWith(403, 'forbidden')
    })

    it('streams an input that is larger than an upload may be', async () => {
      const dir = mkdtempSync(join(tmpdir(), 'crosspoint-input-'))
      const file = join(dir, 'input.csv')
      writeFileSync(
        file,
        rateFile(Array.from({ length: 150_000 }, (_, index) => `1${String(index).padStart(9, '0')}`)),
      )
      await world.configure('crossbar', { max_upload_size: 100_000 })
      try {
        const response = await fetch(
          `http://127.0.0.1:${world.server.port}${world.master.path}/tasks?${importing}`,
          {
            method: 'PUT',
            headers: { ...csvType, 'x-auth-token': world.operator.token },
            body: createReadStream(file),
            duplex: 'half',
          } as unknown as RequestInit,
        )
        const { metadata } = (await response.json()) as { metadata: { id: string; total_count: number } }
        expect(metadata.total_count).toBe(150_000)
        expect(await world.operator.delete(`${world.master.path}/tasks/${metadata.id}`)).toSucceedWith({})
        await world.server.scheduler.runNow('task leftovers')
      } finally {
        await world.configure('crossbar', { max_upload_size: 8_000_000 })
        rmSync(dir, { recursive: true })
      }
    })

    it('is refused beyond the size that streams may have, and leaves nothing', async () => {
      await world.configure('crossbar', { max_streamed_size: 500_000 })
      try {
        const long = rateFile(Array.from({ length: 80_000 }, (_, index) => index + 1))
        const answer = await world.unchanged(() => putCsv(world.operator, world.master, importing, long))
        expect(answer).toFailWith(413, 'validation error')
      } finally {
        await world.configure('crossbar', { max_streamed_size: 4_000_000_000 })
      }
    })
  })

  describe('running', () => {
    it('are started with PATCH, once', async () => {
      await whileNothingRuns(async () => {
        const made = await putCsv(world.operator, world.master, importing, rateFile([1]))
        const started = await world.operator.patch(pathOf(made))
        expect(started).toSucceedWith({})
        expect(started.body.metadata).toMatchObject({
          status: 'executing',
          start_timestamp: 63_934_833_600,
          node: started.body.node,
        })
        const again = await world.unchanged(() => world.operator.patch(pathOf(made)))
        expect(again).toFailWith(404, 'bad_identifier', {
          message: 'bad identifier',
          cause: made.body.metadata.id,
          reason: 'task already started',
        })
        await world.operator.patch(`${pathOf(made)}/stop`)
      })
    })

    it('end with counters and an output of what went wrong', async () => {
      const { path, task } = await finish(importing, `${rateFile([700, 701])}\nx,0.1\n702,abc\n`)
      expect(task).toMatchObject({
        status: 'partial',
        total_count: 4,
        success_count: 2,
        failure_count: 2,
        end_timestamp: 63_934_833_600,
        csvs: ['in.csv', 'out.csv'],
      })
      const output = await world.operator.get(`${path}/output`)
      expect(output.headers['content-disposition']).toBe(
        `attachment; filename="rates_import_${task.id}_out.csv"`,
      )
      expect(output.text).toBe(
        'prefix,rate_cost,error\r\nx,0.1,bad field(s) prefix\r\n702,abc,bad field(s) rate_cost\r\n',
      )
    })

    it('send their result by email to the creator', async () => {
      const person = await world.admin(world.acme, { email: 'starter@acme.test' })
      const made = await putCsv(
        person,
        world.acme,
        'category=number_management&action=find&file_name=numbers.csv',
        'e164\n+14155550100',
      )
      await person.patch(pathOf(made))
      await ended(pathOf(made))
      await world.deliverMail()
      const mails = await mailsTo(world.place.dataDir, 'starter@acme.test')
      const [mail = '', ...more] = mails.filter((one) => one.includes('Subject: Task '))
      expect(more).toEqual([])
      expect(subjectOf(mail)).toBe('Task number_management/find finished: all rows failed')
      expect(textOf(mail)).toMatch(/Rows done: 0\s+Rows failed: 1\s+Input: numbers.csv/)
    })

    it('do not log the email address of a creator above in the log of the account', async () => {
      const email = 'boss@reseller.test'
      const boss = await world.admin(world.reseller, { email })
      const ada = await world.admin(world.acme)
      const made = await putCsv(
        boss,
        world.acme,
        'category=number_management&action=find',
        'e164\n+14155550100',
      )
      await boss.patch(pathOf(made))
      await ended(pathOf(made))
      await world.deliverMail()
      const told = async ({ path }: { path: string }, by: typeof ada) =>
        ((await by.get(`${path}/notifications/smtplog`)).data as { to: string; template_id: string }[])
          .filter(({ to }) => to === email)
          .map(({ template_id: notice }) => notice)
      expect(await told(world.acme, ada)).toEqual([])
      expect(await told(world.reseller, boss)).toContain('task_finished')
    })

    it('without input write their rows', async () => {
      await finish(importing, rateFile([800]))
      const { path, task } = await finish(exporting)
      expect(task).toMatchObject({ status: 'success', csvs: ['out.csv'] })
      expect(task.total_count).toBeUndefined()
      const output = await world.operator.get(`${path}/output`)
      expect(output.text.split('\r\n')[0]).toContain('prefix')
      expect(output.text).toContain('800')
    })

    it('are stopped for good, and keep what is there', async () => {
      await whileNothingRuns(async () => {
        const made = await putCsv(world.operator, world.master, importing, rateFile([1, 2]))
        await world.operator.patch(pathOf(made))
        const stopped = await world.operator.patch(`${pathOf(made)}/stop`)
        expect(stopped).toSucceedWith({})
        expect(stopped.body.page_size).toBe(1)
        expect(stopped.body.metadata).toMatchObject({
          status: 'stopped',
          end_timestamp: 63_934_833_600,
          success_count: 0,
          failure_count: 0,
        })
        for (const path of [pathOf(made), `${pathOf(made)}/stop`]) {
          const refused = await world.unchanged(() => world.operator.patch(path))
          const reason = path.endsWith('stop') ? 'task is not running' : 'task already started'
          expect(refused).toFailWith(404, 'bad_identifier', {
            message: 'bad identifier',
            cause: made.body.metadata.id,
            reason,
          })
        }
        expect((await world.operator.get(`${pathOf(made)}/output`)).text).toBe('prefix,rate_cost,error\r\n')
        expect(await world.operator.delete(pathOf(made))).toSucceed()
      })
    })

    it('cannot be stopped when they do not run', async () => {
      const made = await putCsv(world.operator, world.master, importing, rateFile([1]))
      const refusal = {
        message: 'bad identifier',
        cause: made.body.metadata.id,
        reason: 'task is not running',
      }
      expect(await world.operator.patch(`${pathOf(made)}/stop`)).toFailWith(404, 'bad_identifier', refusal)
      await world.operator.patch(pathOf(made))
      await ended(pathOf(made))
      expect(await world.operator.patch(`${pathOf(made)}/stop`)).toFailWith(404, 'bad_identifier', refusal)
    })

    it('make a new task from their failed rows', async () => {
      const { path, task } = await finish(importing, `${rateFile([900])}\nx,0.1\n`)
      const retry = await world.operator.put(`${path}/retry`)
      expect(retry).toSucceedWith({})
      expect(retry.body.metadata).toMatchObject({
        status: 'pending',
        category: 'rates',
        action: 'import',
        total_count: 1,
        retry_of: task.id,
      })
      expect(retry.headers.location).toBe(pathOf(retry))
      expect((await world.operator.get(`${pathOf(retry)}/input`)).text).toBe('prefix,rate_cost\r\nx,0.1\r\n')
      const early = await world.operator.put(`${pathOf(retry)}/retry`)
      expect(early).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: retry.body.metadata.id,
        reason: 'task is not finished',
      })
      const clean = await finish(importing, rateFile([901]))
      expect(await world.operator.put(`${clean.path}/retry`)).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: clean.task.id,
        reason: 'task has no failed rows',
      })
    })

    it('continue in a new task where they were stopped', async () => {
      await whileNothingRuns(async () => {
        const query = `${importing}&file_name=deck.csv`
        const made = await putCsv(world.operator, world.master, query, rateFile([911, 912]))
        const { id } = made.body.metadata
        for (const path of [pathOf(made), `/v2/tasks/${id}`]) {
          const refused = await world.unchanged(() => world.operator.put(`${path}/continue`))
          expect(refused).toFailWith(404, 'bad_identifier', {
            message: 'bad identifier',
            cause: id,
            reason: 'task was not stopped',
          })
        }
        await world.operator.patch(pathOf(made))
        await world.operator.patch(`${pathOf(made)}/stop`)
        const next = await world.operator.put(`${pathOf(made)}/continue`)
        expect(next).toSucceedWith({})
        expect(next.status).toBe(201)
        const created = 63_934_833_600
        expect(next.body.metadata).toEqual({
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          account_id: world.master.id,
          auth_account_id: world.master.id,
          category: 'rates',
          action: 'import',
          status: 'pending',
          file_name: 'deck.csv',
          created,
          submit_timestamp: created,
          total_count: 2,
          csvs: ['in.csv'],
          continuation_of: id,
        })
        expect(next.headers.location).toBe(pathOf(next))
        expect((await world.operator.get(`${pathOf(next)}/input`)).text).toBe(
          `${rateFile([911, 912])}\n`.replaceAll('\n', '\r\n'),
        )
        const other = await world.operator.put(`/v2/tasks/${id}/continue`)
        expect(other.status).toBe(201)
        expect(await world.operator.patch(pathOf(next))).toSucceed()
        const late = await world.unchanged(() => world.operator.patch(pathOf(other)))
        expect(late).toFailWith(404, 'bad_identifier', {
          message: 'bad identifier',
          cause: other.body.metadata.id,
          reason: 'another task runs these rows',
        })
        expect((await world.operator.get(pathOf(made))).body.metadata.continued_by).toBe(
          next.body.metadata.id,
        )
        await world.operator.patch(`${pathOf(next)}/stop`)
      })
    })

    it('change nothing when they are dry, and write what they would', async () => {
      const rates = async () => (await world.operator.get('/v2/rates?paginate=false')).data
      const before = await rates()
      const csv = `${rateFile([950, 951])}\nx,0.1\n`
      const dry = await finish(`${importing}&dry_run=true`, csv)
      expect(dry.task).toMatchObject({ status: 'partial', dry_run: true, success_count: 2, failure_count: 1 })
      expect(await rates()).toEqual(before)
      const real = await finish(importing, csv)
      const outputs = [dry, real].map(({ path }) => world.operator.get(`${path}/output`))
      const [one, other] = await Promise.all(outputs)
      expect(one?.text.split('\r\n')).toEqual([
        'prefix,rate_cost,change,error',
        '950,0.1,added,',
        '951,0.1,added,',
        'x,0.1,,bad field(s) prefix',
        '',
      ])
      expect(other?.text.split('\r\n')).toEqual(['prefix,rate_cost,error', 'x,0.1,bad field(s) prefix', ''])
      expect(await rates()).not.toEqual(before)
    })
  })

  describe('being read', () => {
    it('are JSON or CSV as the client likes', async () => {
      const { path } = await finish(importing, `${rateFile([1])}\nx,0.1\n`)
      const read = (query: string, accept?: string) =>
        world.operator.get(`${path}${query}`, accept ? { headers: { accept } } : {})
      const output = (await read('/output')).text
      const input = (await read('/input')).text
      for (const [query, accept] of [
        ['?csv_name=out.csv', 'text/csv'],
        ['?csv_name=out.csv', undefined],
        ['', 'text/csv'],
        ['', 'text/comma-separated-values'],
        ['', 'application/octet-stream'],
        ['', 'image/png, text/csv'],
        ['?accept=csv', undefined],
        ['?accept=text/csv', 'application/json'],
      ] as const) {
        const answer = await read(query, accept)
        expect(answer.text, `${query} ${accept}`).toBe(output)
        expect(answer.headers['content-type']).toBe('text/csv')
      }
      expect((await read('?csv_name=in.csv', 'text/csv')).text).toBe(input)
      for (const accept of [undefined, '*/*', 'application/json', 'application/x-json', 'image/png']) {
        expect(await read('', accept)).toSucceedWith({})
      }
    })

    it('have no CSV of another name, and no output before their end', async () => {
      const made = await putCsv(world.operator, world.master, importing, rateFile([1]))
      const missing = { message: 'bad identifier', cause: made.body.metadata.id }
      for (const path of ['/output', '?csv_name=out.csv', '?csv_name=failed', '?csv_name=../in.csv']) {
        const answer = await world.operator.get(`${pathOf(made)}${path}`, { headers: { accept: 'text/csv' } })
        expect(answer).toFailWith(404, 'bad_identifier', missing)
      }
      const exported = await finish(exporting)
      expect(await world.operator.get(`${exported.path}/input`)).toFailWith(404, 'bad_identifier')
    })

    it('come in lists, newest first, with pages and filters', async () => {
      const account = world.reseller
      await world.operator.put(`${account.path}/tasks?category=number_management&action=list`)
      await world.operator.put(`${account.path}/tasks?${finding}`, {
        records: [{ e164: '+14155550100' }],
      })
      await world.operator.put(`${account.path}/tasks?category=number_management&action=list`)
      const all = await world.operator.get(`${account.path}/tasks`)
      expect(all.data.map(({ action }: Json) => action)).toEqual(['list', 'find', 'list'])
      const first = await world.operator.get(`${account.path}/tasks?page_size=2`)
      expect(first.data).toEqual(all.data.slice(0, 2))
      const rest = await world.operator.get(
        `${account.path}/tasks?page_size=2&start_key=${first.body.next_start_key}`,
      )
      expect(rest.data).toEqual(all.data.slice(2))
      const finds = await world.operator.get(`${account.path}/tasks?filter_action=find&filter_status=pending`)
      expect(finds.data).toEqual([all.data[1]])
      const none = await world.operator.get(`${account.path}/tasks?created_from=${all.data[0].created + 1}`)
      expect(none.data).toEqual([])
    })

    it.each([
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input'],
      ['GET', '/output'],
    ])('are not found by an unknown id: %s %s', async (method, path) => {
      const id = '0'.repeat(32)
      const answer = await world.operator.request(method, `${world.master.path}/tasks/${id}${path}`)
      expect(answer).toFailWith(404, 'bad identifier', [id])
    })

    it.each([
      ['PATCH', ''],
      ['PATCH', '/stop'],
      ['PUT', '/retry'],
      ['PUT', '/continue'],
    ])('are not found by an unknown id, with the reason: %s %s', async (method, path) => {
      const id = '0'.repeat(32)
      const answer = await world.operator.request(method, `${world.master.path}/tasks/${id}${path}`)
      expect(answer).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: id,
        reason: 'task not found',
      })
    })

    it('are not found through another account', async () => {
      const made = await putCsv(world.operator, world.master, finding, 'e164\n+14155550100\n')
      const { id } = made.body.metadata as { id: string }
      const answer = await world.operator.get(`${world.acme.path}/tasks/${id}`)
      expect(answer).toFailWith(404, 'bad identifier', [id])
    })
  })

  describe('being deleted', () => {
    it('answer with their last record', async () => {
      const { path, task } = await finish(importing, rateFile([1]))
      const answer = await world.operator.delete(path)
      expect(answer).toSucceedWith({})
      expect(answer.body.metadata).toEqual(task)
      expect(await world.operator.get(path)).toFailWith(404, 'bad identifier', [task.id])
      await world.server.scheduler.runNow('task leftovers')
    })

    it('are let alone while they run', async () => {
      await whileNothingRuns(async () => {
        const made = await putCsv(world.operator, world.master, importing, rateFile([1]))
        await world.operator.patch(pathOf(made))
        const answer = await world.unchanged(() => world.operator.delete(pathOf(made)))
        expect(answer).toFailWith(404, 'bad_identifier', {
          message: 'bad identifier',
          cause: made.body.metadata.id,
          reason: 'task is running',
        })
        await world.operator.patch(`${pathOf(made)}/stop`)
      })
    })

    it('go with their account, inputs and outputs included', async () => {
      const account = await world.account()
      const admin = await world.admin(account)
      const query = 'category=number_management&action=find'
      const made = await putCsv(admin, account, query, 'e164\n+14155550100')
      await admin.patch(pathOf(made))
      await ended(pathOf(made))
      await putCsv(admin, account, query, 'e164\n+14155550101')
      const left = async () => {
        const runs = await world.server.store.all('SELECT id FROM long_runs WHERE account_id = $1', [
          account.id,
        ])
        const parts = await world.server.store.all('SELECT name FROM long_parts WHERE account_id = $1', [
          account.id,
        ])
        return runs.length + parts.length
      }
      expect(await left()).toBeGreaterThan(3)
      expect(await world.operator.delete(account.path)).toSucceed()
      await world.server.scheduler.runNow('task leftovers')
      expect(await left()).toBe(0)
    })

    it('may be pending', async () => {
      const made = await putCsv(world.operator, world.master, importing, rateFile([1]))
      expect(await world.operator.delete(pathOf(made))).toSucceed()
    })
  })

  describe('without an account in the path', () => {
    it('are those of the account of the token', async () => {
      const made = await world.operator.put(`/v2/tasks?${importing}`, undefined, {
        body: Buffer.from(rateFile([1])),
        headers: csvType,
      })
      expect(made.body.metadata.account_id).toBe(world.master.id)
      expect(made.headers.location).toBe(pathOf(made))
      const path = `/v2/tasks/${made.body.metadata.id}`
      expect((await world.operator.patch(path)).body.metadata.status).toBe('executing')
      await ended(pathOf(made))
      expect((await world.operator.get(`${path}/output`)).text).toBe('prefix,rate_cost,error\r\n')
      expect(await world.operator.delete(path)).toSucceed()
    })

    it('are made by system administrators alone', async () => {
      expect(await world.ross.put(`/v2/tasks?${exporting}`)).toFailWith(403, 'forbidden')
      expect(await world.anonymous.put(`/v2/tasks?${exporting}`)).toFailWith(401, 'invalid_credentials')
    })
  })
})
