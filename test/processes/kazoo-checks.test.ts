// The comparisons of `--finish`, tested by breaking the store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dataSet, documentNamed } from '../support/kazoo/data-set.ts'
import { openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf, gregorian, idOf, sample, stamped } from '../support/kazoo/sample.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { describeEngines, type Engine } from '../support/servers/databases.ts'

const { C, D, M, R } = accounts
const none = 'f'.repeat(32)
const day = gregorian(2025, 2, 3)

const inC = (name: string, fields: { pvt_type: string } & Record<string, unknown>) =>
  sample(0, name, databaseOf(C), { _id: idOf(name), ...stamped(fields.pvt_type, C, day), ...fields })

const idNamed = (name: string) => documentNamed(name).id
const [phone, ann, flow] = [
  idNamed('device_sip_name'),
  idNamed('user_both_digests'),
  idNamed('callflow_of_numbers'),
]
const [menu, group, plan] = [idOf('menu'), idOf('group'), idNamed('plan_of_reseller')]

// No price here: it is set aside, and that is not a difference.
const rateBelowNothing = sample(0, 'rate_below_nothing', 'ratedeck', {
  _id: idOf('rate below nothing'),
  ...stamped('rate', C, day),
  prefix: '45',
  rate_cost: 0.02,
  rate_surcharge: -1,
})

const csv = (name: string, content: string) => ({
  name,
  contentType: 'text/csv',
  bytes: Buffer.from(content),
  revpos: 2,
})

const task = (name: string, files: Parameters<typeof sample>[4]) =>
  sample(
    0,
    name,
    'tasks',
    {
      _id: idOf(name),
      ...stamped('task', C, day, 'tasks'),
      pvt_category: 'number_management',
      pvt_action: 'import',
      pvt_status: 'success',
      pvt_submitted_at: day,
      pvt_started_at: day,
      pvt_ended_at: day,
    },
    files,
  )

// The first row of the output is written in another way than ours.
const doneTask = task('task with files', {
  files: [csv('in.csv', 'number\r\n+14155550125\r\n'), csv('out.csv', '"number","error"\n+14155550125,\n')],
})
const outputs = [
  'number,error\r\n+14155550125,\r\n\r\n',
  'number,error\r\n',
  'number',
  '\n',
  '\ufeffnumber\r\nü\r\n',
  '',
]
// Files with invalid content, which the import reports when they arrive.
const flawedTasks = [
  task('task of no csv', { files: [csv('in.csv', 'number,number\n1\n')] }),
  task('task of odd quotes', { files: [csv('out.csv', 'number,error\n"1","say "hi" now"\n')] }),
]
const tasks = [
  doneTask,
  ...flawedTasks,
  ...outputs.map((output, at) => task(`task of output ${at}`, { files: [csv('out.csv', output)] })),
]

/** The sample system, with an unknown document, a group with a missing member, an invalid price, and tasks with files. */
const withMore = () => {
  const all = new Map(dataSet())
  const more = [
    inC('menu', { pvt_type: 'menu', name: 'Menu' }),
    inC('group', {
      pvt_type: 'group',
      name: 'Team',
      endpoints: { [ann]: { type: 'user' }, [none]: { type: 'user' } },
    }),
  ]
  all.set(databaseOf(C), [...(all.get(databaseOf(C)) ?? []), ...more])
  all.set('tasks', [...(all.get('tasks') ?? []), ...tasks])
  all.set('ratedeck', [...(all.get('ratedeck') ?? []), rateBelowNothing])
  return all
}

/** A change that breaks the store, the change that mends it, and the lines that the check prints in between. */
interface Break {
  what: string
  /** Those of one group change none of the same rows, and the lines of each do not depend on the others. */
  group: 1 | 2 | 3
  breaks: readonly string[]
  mends: readonly string[]
  lines: readonly string[]
}

const ofRecord = (kind: string, id: string) => `kind = '${kind}' AND id = '${id}' AND account_id = '${C}'`

const inDoc = (kind: string, id: string, from: string, to: string) =>
  `UPDATE records SET doc = REPLACE(doc, '${from}', '${to}') WHERE ${ofRecord(kind, id)}`

const calls = (set: string, where: string) =>
  `UPDATE cdrs_202502 SET ${set} WHERE account_id = '${C}' AND ${where}`

const accountPlace = (kind: string, id: string) => `account ${C}, ${kind}, ${id}`

const breaks: readonly Break[] = [
  {
    what: 'a document is recorded with another result',
    group: 1,
    breaks: [`UPDATE kazoo_documents SET outcome = 'skipped' WHERE name = 'webhooks'`],
    mends: [`UPDATE kazoo_documents SET outcome = 'imported' WHERE name = 'webhooks'`],
    lines: [`documents: webhooks, ${idNamed('webhook')}: result: expected "imported", found "skipped"`],
  },
  {
    what: 'nothing is known of a document',
    group: 2,
    breaks: [`UPDATE kazoo_documents SET document_id = 'other', type = 'other' WHERE name = 'webhooks'`],
    mends: [
      `UPDATE kazoo_documents SET document_id = '${idNamed('webhook')}', type = 'webhook' WHERE name = 'webhooks'`,
    ],
    lines: [
      `documents: webhooks, ${idNamed('webhook')}: result: expected "imported", found nothing`,
      'documents: webhooks: documents of type webhook: expected 1, found 0',
      'documents: webhooks: documents of type other: expected 0, found 1',
    ],
  },
  {
    what: 'a record is another one',
    group: 1,
    breaks: [`UPDATE records SET id = '${none}' WHERE ${ofRecord('device', phone)}`],
    mends: [`UPDATE records SET id = '${phone}' WHERE ${ofRecord('device', none)}`],
    lines: [
      `documents: ${accountPlace('device', phone)}: is missing`,
      `records: ${accountPlace('device', none)}: is not in the source`,
    ],
  },
  {
    what: 'a user can no longer sign in',
    group: 2,
    breaks: [
      `UPDATE records SET hidden = REPLACE(hidden, '"signInKeys":[', '"signInKeys":[],"before":[') WHERE ${ofRecord('user', ann)}`,
    ],
    mends: [
      `UPDATE records SET hidden = REPLACE(hidden, '"signInKeys":[],"before":[', '"signInKeys":[') WHERE ${ofRecord('user', ann)}`,
    ],
    lines: [`documents: ${accountPlace('user', ann)}: the user has no keys to sign in with`],
  },
  {
    what: 'what was kept is gone',
    group: 2,
    breaks: [`UPDATE kazoo_kept SET id = 'other' WHERE id = '${menu}'`],
    mends: [`UPDATE kazoo_kept SET id = '${menu}' WHERE id = 'other'`],
    lines: [`documents: ${accountPlace('kazoo_kept', `${databaseOf(C)}|${menu}`)}: is missing`],
  },
  {
    what: 'what records name is not there',
    group: 3,
    breaks: [
      inDoc('device', phone, ann, none),
      inDoc('callflow', flow, ann, none),
      inDoc('group', group, ann, '0'.repeat(32)),
      inDoc('services', C, plan, none),
    ],
    mends: [
      inDoc('device', phone, none, ann),
      inDoc('callflow', flow, none, ann),
      inDoc('group', group, '0'.repeat(32), ann),
      inDoc('services', C, none, plan),
    ],
    lines: [
      `records: ${accountPlace('callflow', flow)}: flow: the user ${none} is missing`,
      `records: ${accountPlace('device', phone)}: owner_id: the user ${none} is missing`,
      `records: ${accountPlace('group', group)}: endpoints.${'0'.repeat(32)}: the user ${'0'.repeat(32)} is missing`,
      `records: ${accountPlace('services', C)}: plans.${none}: the service_plan ${none} is missing`,
    ],
  },
  {
    what: 'an account is at another place in the tree',
    group: 1,
    breaks: [
      `UPDATE account_tree SET ancestor_id = '${C}' WHERE account_id = '${C}' AND ancestor_id = '${R}'`,
    ],
    mends: [
      `UPDATE account_tree SET ancestor_id = '${R}' WHERE account_id = '${C}' AND ancestor_id = '${C}'`,
    ],
    lines: [
      `accounts: account ${C}, tree: accounts above it: expected "${M} ${R}", found "${M} ${C}"`,
      `counts: account ${C}: it counts 0 sub-accounts, but has 1`,
    ],
  },
  {
    what: 'there is a second root',
    group: 2,
    breaks: [`UPDATE account_tree SET account_id = 'other' WHERE account_id = '${D}'`],
    mends: [`UPDATE account_tree SET account_id = '${D}' WHERE account_id = 'other'`],
    lines: [
      `accounts: account ${D}, tree: accounts above it: expected "${M}", found ""`,
      'accounts: tree: accounts without a parent: expected 1, found 2',
    ],
  },
  {
    what: 'an account is not found by its realm',
    group: 2,
    breaks: [
      `UPDATE claims SET value = 'else.where' WHERE name = 'realm' AND holder_account_id = '${C}'`,
      `UPDATE records SET doc = REPLACE(doc, 'cee.sip.example', 'else.where') WHERE ${ofRecord('account', C)}`,
    ],
    mends: [
      `UPDATE claims SET value = 'cee.sip.example' WHERE name = 'realm' AND holder_account_id = '${C}'`,
      `UPDATE records SET doc = REPLACE(doc, 'else.where', 'cee.sip.example') WHERE ${ofRecord('account', C)}`,
    ],
    lines: [
      `accounts: account ${C}, account: realm: expected "cee.sip.example", found "else.where"`,
      `accounts: account ${C}, account: found by.realm: expected "cee.sip.example", found "else.where"`,
    ],
  },
  {
    what: 'a number is in another state',
    group: 1,
    breaks: [`UPDATE numbers SET state = 'aging', used_by = '' WHERE number = '+14155550125'`],
    mends: [`UPDATE numbers SET state = 'in_service', used_by = 'callflow' WHERE number = '+14155550125'`],
    lines: [
      `numbers: account ${C}, number, +14155550125: state: expected "in_service", found "aging"`,
      `numbers: account ${C}, number, +14155550125: used_by: expected "callflow", found ""`,
      'numbers: all numbers: in state aging: expected 1, found 2',
      'numbers: all numbers: in state in_service: expected 4, found 3',
    ],
  },
  {
    what: 'a price of calls is another one',
    group: 1,
    breaks: [
      `UPDATE records SET doc = REPLACE(doc, '"rate_cost":0.012', '"rate_cost":0.013') WHERE kind = 'rate'`,
    ],
    mends: [
      `UPDATE records SET doc = REPLACE(doc, '"rate_cost":0.013', '"rate_cost":0.012') WHERE kind = 'rate'`,
    ],
    lines: [
      `documents: account system, rate, ${idNamed('rate_cost_as_text')}: rate_cost: expected 0.012, found 0.013`,
    ],
  },
  {
    what: 'a rate is gone',
    group: 2,
    breaks: [
      `UPDATE records SET id = '${none}' WHERE kind = 'rate' AND id = '${idNamed('rate_cost_as_text')}'`,
    ],
    mends: [
      `UPDATE records SET id = '${idNamed('rate_cost_as_text')}' WHERE kind = 'rate' AND id = '${none}'`,
    ],
    lines: [`documents: account system, rate, ${idNamed('rate_cost_as_text')}: is missing`],
  },
  {
    what: 'a file is gone, and others are shorter, or no more what they were',
    group: 1,
    breaks: [
      `UPDATE records SET id = 'none' WHERE kind = 'whitelabel_file' AND account_id = '${D}' AND id = 'logo'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"base64":"iVBO', '"base64":"') WHERE kind = 'whitelabel_file'
        AND account_id = '${R}' AND id = 'logo'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"base64":"iVBO', '"base64":"iVBP') WHERE kind = 'whitelabel_file'
        AND account_id = '${R}' AND id = 'icon'`,
    ],
    mends: [
      `UPDATE records SET id = 'logo' WHERE kind = 'whitelabel_file' AND account_id = '${D}' AND id = 'none'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"base64":"', '"base64":"iVBO') WHERE kind = 'whitelabel_file'
        AND account_id = '${R}' AND id = 'logo'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"base64":"iVBP', '"base64":"iVBO') WHERE kind = 'whitelabel_file'
        AND account_id = '${R}' AND id = 'icon'`,
    ],
    lines: [
      `documents: account ${D}, whitelabel, whitelabel: the file brand.png is missing`,
      `documents: account ${R}, whitelabel, whitelabel: the file logo-new.png has 79 bytes instead of 82`,
      `documents: account ${R}, whitelabel, whitelabel: the file icon-small.png does not match its digest`,
    ],
  },
  {
    what: 'of the files of a task one has lost a row, and the other a letter',
    group: 1,
    breaks: [
      `UPDATE long_parts SET name = 'lost' WHERE run_id = '${doneTask.id}' AND name = 'in.csv'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"head":"\\"number', '"head":"\\"numbr') WHERE ${ofRecord('task', doneTask.id)}`,
    ],
    mends: [
      `UPDATE long_parts SET name = 'in.csv' WHERE run_id = '${doneTask.id}' AND name = 'lost'`,
      `UPDATE records SET hidden = REPLACE(hidden, '"head":"\\"numbr', '"head":"\\"number') WHERE ${ofRecord('task', doneTask.id)}`,
    ],
    lines: [
      `documents: ${accountPlace('task', doneTask.id)}: the file in.csv has 0 bytes instead of 22`,
      `documents: ${accountPlace('task', doneTask.id)}: the file out.csv has 30 bytes instead of 31`,
    ],
  },
  {
    what: 'an entry of a ledger is in another month',
    group: 3,
    breaks: [
      `UPDATE ledger_entries SET month = 202501 WHERE account_id = '${C}' AND id = '${idNamed('ledger_debit')}'`,
    ],
    mends: [
      `UPDATE ledger_entries SET month = 202502 WHERE account_id = '${C}' AND id = '${idNamed('ledger_debit')}'`,
    ],
    lines: [`months: account ${C}, ledger of a month, 202502: entries: expected 2, found 1`],
  },
  {
    what: 'a call is dearer',
    group: 1,
    breaks: [calls('cost = cost + 3', `id = '202502-6f0c@10.1.2.3'`)],
    mends: [calls('cost = cost - 3', `id = '202502-6f0c@10.1.2.3'`)],
    lines: [`calls: account ${C}, call record, 202502-6f0c@10.1.2.3: cost: expected 120, found 123`],
  },
  {
    what: 'a call belongs to another interaction',
    group: 1,
    breaks: [calls('interaction_time = interaction_time + 2', `id = '202502-pair-b@10.1.2.3'`)],
    mends: [calls('interaction_time = interaction_time - 2', `id = '202502-pair-b@10.1.2.3'`)],
    lines: [
      `calls: account ${C}, call record, 202502-pair-b@10.1.2.3: interaction_time: expected 63905792400, found 63905792402`,
    ],
  },
  {
    what: 'a call is longer, and another one is gone',
    group: 2,
    breaks: [
      calls('duration_seconds = duration_seconds + 5', `id = '202502-pair-a@10.1.2.3'`),
      calls(`id = '202502-other'`, `id = '202502-pair-b@10.1.2.3'`),
    ],
    mends: [
      calls('duration_seconds = duration_seconds - 5', `id = '202502-pair-a@10.1.2.3'`),
      calls(`id = '202502-pair-b@10.1.2.3'`, `id = '202502-other'`),
    ],
    lines: [
      `calls: account ${C}, call record, 202502-pair-a@10.1.2.3: duration_seconds: expected 36, found 41`,
      `calls: account ${C}, call record, 202502-pair-b@10.1.2.3: is missing`,
    ],
  },
]

const openCheckedStage = async (engine: Engine) => {
  const stage = await openImportStage(engine, withMore())
  const report = await stage.import()
  // It names no interaction and began before one that names none either, whose it is from now on.
  const late = gregorian(2025, 2, 5, 10, 59)
  stage.kazoo.put(databaseOf(C, '202502'), {
    ...stamped('cdr', C, late + 120, databaseOf(C, '202502')),
    _id: '202502-late@10.1.2.3',
    call_id: 'late@10.1.2.3',
    call_direction: 'inbound',
    other_leg_call_id: 'oldest@10.1.2.3',
    timestamp: late + 120,
    duration_seconds: 120,
    billing_seconds: 120,
  })
  await stage.import()

  const differences = async () => {
    const { status, errors } = await stage.refused('--finish')
    expect(status).toBe(1)
    const lines = errors.split('\n').filter((line) => /^[a-z]+: /.test(line))
    return { lines: lines.slice(0, -1), last: lines.at(-1) }
  }

  return {
    ...stage,
    report,
    differences,
    /** Shows that all of these are reported when all are broken, each once, and mends them. */
    async expectTold(some: readonly Break[]) {
      await stage.change(...some.flatMap((one) => one.breaks))
      try {
        const wanted = some.flatMap((one) => one.lines)
        const { lines } = await differences()
        expect(lines).toEqual(expect.arrayContaining(wanted))
        expect(lines).toEqual([...new Set(lines)])
      } finally {
        await stage.change(...some.toReversed().flatMap((one) => one.mends))
      }
    },
  }
}

type CheckedStage = Awaited<ReturnType<typeof openCheckedStage>>

describeEngines('the checks of crosspoint import kazoo --finish', (engine) => {
  let stage: CheckedStage

  beforeAll(async () => {
    stage = await openCheckedStage(engine)
  })
  afterAll(() => stage.close())

  it('report each difference, and no others, and the store stays closed until the differences are accepted', async () => {
    // The import reports files with invalid content when they arrive; they are not a difference.
    expect(toldOf(stage.report, 'file_unreadable')).toMatchObject({
      first: expect.arrayContaining(
        flawedTasks.map(({ id }) => expect.objectContaining({ database: 'tasks', id })),
      ),
    })
    for (const some of Object.values(Object.groupBy(breaks, ({ group }) => group)))
      await stage.expectTold(some)

    await stage.change(
      `UPDATE numbers SET account_id = '' WHERE number = '+14155550125'`,
      `UPDATE ledger_entries SET amount = amount - 7 WHERE account_id = '${C}' AND month = 202502
        AND id = '202502-ledgers_monthly_rollover'`,
      `UPDATE records SET tally = tally + 1 WHERE kind = 'account' AND id = '${C}'`,
    )
    const found = await stage.differences()
    expect(found).toEqual({
      lines: [
        `numbers: account ${C}, number, +14155550125: account_id: expected "${C}", found ""`,
        `months: account ${C}, ledger of a month, 202502: units carried over: expected 250000, found 249993`,
        `keys: account ${C}, number, key by key, +14155550125: is missing`,
        `counts: account ${C}: it counts 1 sub-accounts, but has 0`,
        `counts: account ${C}: its count of number_carriers knm_bandwidth2 is wrong by 1`,
        `counts: account ${C}: its count of number_services outbound_cnam is wrong by 1`,
        `counts: account ${C}: its count of phone_numbers did_us is wrong by 1`,
        `ledgers: ledger of account ${C}, entry 202502-ledgers_monthly_rollover: its postings do not add up to zero or differ from its amount`,
        `ledgers: ledger of account ${C}, month 202502, rollovers: the sum is 250000 units, the sum of its entries is 249993`,
      ],
      last: 'crosspoint: the stored data has 9 differences: the import is not finished. Use --accept-differences to finish it anyway',
    })
    const admin = await stage.admin()
    expect((await admin.put(`/v2/accounts/${C}/devices`, { name: 'Here' })).status).toBe(503)
    await stage.import('--finish', '--accept-differences')
    expect((await admin.put(`/v2/accounts/${C}/devices`, { name: 'Here' })).status).toBe(201)
  })
})

inFullRun(() =>
  describeEngines('the comparisons of an import, broken piece by piece', (engine) => {
    let stage: CheckedStage

    beforeAll(async () => {
      stage = await openCheckedStage(engine)
    })
    afterAll(() => stage.close())

    it.each(breaks)('report when $what', (one) => stage.expectTold([one]))
  }),
)
