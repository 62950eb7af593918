// Call records as a Kazoo keeps them, of any generation and in any state, and how they are brought here.
import fc from 'fast-check'
import { createCallImport, type MonthPage } from '../../../import-kazoo/conversions/call-import.ts'
import { emptyBook } from '../../../import-kazoo/conversions/ledgers.rules.ts'
import type { KazooDocument } from '../../../import-kazoo/documents/document.ts'
import { type CountedFindings, joinFindings } from '../../../import-kazoo/report/report.ts'
import type { LegImporter } from '../../../src/areas/calls/cdrs/intake/adoption.ts'
import type { Json } from '../../../src/lib/json.ts'
import type { ChangeSet } from '../../../src/storage/change-set.ts'
import type { Store } from '../../../src/storage/store.ts'

export const databaseOf = (accountId: string, month: number) =>
  `account/${accountId.slice(0, 2)}/${accountId.slice(2, 4)}/${accountId.slice(4)}-${month}`

/** A document as its source gives it: by its text. */
export const documentOf = (fields: Json, database: string, text = JSON.stringify(fields)): KazooDocument => {
  const parsed = JSON.parse(text) as Json
  const { _id: id, _rev: rev, pvt_type: type } = parsed
  return {
    id: String(id),
    rev: typeof rev === 'string' ? rev : undefined,
    text,
    conflicts: [],
    database,
    fields: parsed,
    type: typeof type === 'string' ? type : '',
  }
}

export const pagesOf = (documents: readonly KazooDocument[], size: number): MonthPage[] =>
  Array.from({ length: Math.ceil(documents.length / size) }, (_, at) => ({
    documents: documents.slice(at * size, (at + 1) * size),
    mark: String(at + 1),
  }))

interface Wish {
  accountId: string
  database: string
  documents: readonly KazooDocument[]
  pageSize?: number
  after?: string
  /** Documents that go in with one transaction. */
  documentsAtOnce?: number
  /** Commits new records and the mark where reading continues. Without it the store imports them. */
  commit?(set: ChangeSet, mark: string | undefined): Promise<void>
}

/** Imports documents of one database as a run does, and returns their results. */
export const importCalls = async (
  { store, legAdoption }: { store: Store; legAdoption: LegImporter },
  wish: Wish,
) => {
  const { accountId, database, documents, pageSize = 3, after, documentsAtOnce } = wish
  const { commit = (set) => store.adopt(set) } = wish
  const pages = pagesOf(documents, pageSize)
  const counts = { imported: 0, duplicates: 0, skipped: 0, aside: 0 }
  const aside: KazooDocument[] = []
  const marks: (string | undefined)[] = []
  let findings: CountedFindings[] = []
  let reached: string | undefined
  const author = { requestId: 'import' }
  const calls = createCallImport(
    { legAdoption, author, documentsAtOnce, commit: (set) => commit(set, reached) },
    accountId,
  )
  await calls.month({
    database,
    after,
    async *pages(behind = '0') {
      yield* pages.slice(Number(behind))
    },
    convertOthers: () => ({ converted: [], book: emptyBook }),
    async add(_set, { mark }) {
      reached = mark
    },
    stored(part) {
      for (const name of ['imported', 'duplicates', 'skipped', 'aside'] as const)
        counts[name] += part.counts[name]
      aside.push(...part.aside)
      marks.push(part.mark)
      findings = joinFindings(findings, part.findings)
    },
  })
  await calls.settle()
  const codes = Object.fromEntries(findings.map(({ code, count }) => [code, count]))
  return { counts, codes, findings, aside: aside.map(({ id }) => id), marks }
}

const oddText = fc.constantFrom(
  '',
  'a,b',
  '=1+1',
  '"q"',
  'Zoë & Søns 電話',
  'a@b.test',
  '5',
  '☎️',
  ' x ',
  'a\tb',
  'x\r\ny\u2028',
)
const text = fc.oneof(oddText, fc.string({ maxLength: 6 }))
const number = fc.oneof(fc.nat(500), fc.nat(500).map(String), fc.constantFrom(-4, '-4', '', '12.7', 3.5))
const junk = fc.constantFrom<unknown>(null, true, [], {}, ['a', null], { a: null, b: { c: [1] } }, 'x', 1e15)

const variables = fc.record(
  {
    owner_id: fc.constantFrom('u1', 'u2', ''),
    authorizing_id: fc.constantFrom('phone1', 'phone2'),
    account_billing: fc.constantFrom('per_minute', 'flat_rate', 'allotment_us'),
    reseller_billing: fc.constantFrom('per_minute', 'flat_rate'),
    rate: fc.oneof(fc.nat(400), fc.constantFrom('120', -1)),
    rate_name: text,
    rate_increment: fc.constantFrom(6, '60'),
    surcharge: fc.nat(50),
    resource_id: text,
    bridge_id: fc.constantFrom('call-0', 'call-1', 'call-2'),
    media_recordings: fc.constantFrom<unknown>(['one', 'two'], 'one', 7),
    call_priority: fc.constantFrom<unknown>('5', 5),
    application_name: fc.constantFrom('voicemail', 'milliwatt'),
    username: text,
    password: fc.constant('not to be seen'),
    custom_thing: junk,
  },
  { requiredKeys: [] },
)

const others = fc.record(
  {
    call_direction: fc.constantFrom<unknown>('inbound', 'outbound', 'sideways', ''),
    billing_seconds: number,
    ringing_seconds: number,
    caller_id_name: text,
    caller_id_number: fc.oneof(text, fc.constantFrom<unknown>('+4930123', 1001)),
    callee_id_number: text,
    from: text,
    to: text,
    request: text,
    from_uri: text,
    hangup_cause: fc.constantFrom('NORMAL_CLEARING', 'USER_BUSY'),
    other_leg_call_id: fc.constantFrom('call-0', 'call-1', 'elsewhere', ''),
    recording_url: text,
    channel_is_loopback: fc.constantFrom<unknown>(true, 'true', 'false'),
    channel_name: fc.constantFrom('sofia/x', 'loopback/5-a'),
    channel_loopback_bowout: fc.boolean(),
    custom_sip_headers: fc.constantFrom<unknown>({ 'X-A': 'b' }, { in: { 'X-A': 1 } }, { in: { ä: 'b' } }),
    custom_application_vars: junk,
    transfer_history: junk,
    extended_data: junk,
    is_conference: fc.boolean(),
    call_priority: text,
    cost: fc.nat(9),
    fax_t38: fc.constantFrom<unknown>(true, 'no'),
    pvt_owner_id: fc.constantFrom('u1', 'u3'),
    pvt_cost: fc.nat(9),
  },
  { requiredKeys: [] },
)

const times = fc.record({
  ended: fc.integer({ min: -40, max: 40 }),
  duration: fc.nat(30),
  channel: fc.constantFrom('none', 'right', 'late', 'far'),
  version: fc.constantFrom<unknown>(undefined, 1, '2', '3', 3),
  interaction: fc.constantFrom(
    'named',
    'named',
    'parts',
    'none',
    'none',
    'other month',
    'bad key',
    'bad parts',
  ),
})

const facts = fc.record({ others, variables: fc.option(variables, { nil: undefined }), times })

type Facts = typeof facts extends fc.Arbitrary<infer Found> ? Found : never

const micro = (gregorian: number) => (gregorian - 62_167_219_200) * 1_000_000 + 1234

const interactionFields = (kind: Facts['times']['interaction'], start: number, index: number): Json => {
  const key = `${index % 3}abc0def`
  const time = start - (index % 3)
  switch (kind) {
    case 'named':
      return { interaction_id: `${time}-${key}`, interaction_time: time, interaction_key: key }
    case 'parts':
      return { interaction_time: String(time), interaction_key: key }
    case 'other month':
      return { interaction_id: `${time - 10 * 86_400}-${key}` }
    case 'bad key':
      return { interaction_id: `${time}-no good` }
    case 'bad parts':
      return { interaction_id: `${time}-${key}`, interaction_time: 5, interaction_key: key }
    default:
      return {}
  }
}

/** Fields of documents that ended close to a moment, each call once. */
export const anyCalls = (moment: number, maxLength = 25) =>
  fc.array(facts, { minLength: 1, maxLength }).map((all) =>
    all.map(({ others, variables, times }, index): Json => {
      const { ended, duration, channel, version, interaction } = times
      const timestamp = moment + ended
      const start = timestamp - duration
      const channels: Record<typeof channel, Json> = {
        none: {},
        right: { channel_created_time: micro(start) },
        late: { channel_created_time: micro(start - 9) },
        far: { channel_created_time: String(micro(start - 90 * 86_400)) },
      }
      return {
        _id: `202601-call-${index}`,
        _rev: '1-a',
        call_id: `call-${index}`,
        pvt_type: 'cdr',
        ...(version === undefined ? {} : { pvt_vsn: version }),
        pvt_created: timestamp + 1,
        timestamp: index % 2 ? timestamp : String(timestamp),
        duration_seconds: index % 2 ? duration : String(duration),
        ...channels[channel],
        ...interactionFields(interaction, start, index),
        ...others,
        ...(variables ? { custom_channel_vars: variables } : {}),
      }
    }),
  )
