import type { TSchema } from 'typebox'
import type { Actor } from '../auth/identity.ts'
import type { Policy } from '../auth/policies.ts'
import { cachedListing, type Listing } from '../http/response/listing.ts'
import { type Extras, ListResponse, made, one, removed } from '../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route, type RouteSpec } from '../http/route.ts'
import type { Json } from '../lib/json.ts'
import type { Warning } from '../settings/unknown-keys.ts'
import type { ListRow, StoredRecord } from '../storage/records.ts'
import type { Contributions } from './area.ts'
import type { RecordOperations } from './records.ts'

type Operation = 'list' | 'create' | 'read' | 'replace' | 'patch' | 'delete'

type RouteNotes = Partial<Route['spec']> & { allow: Policy }

interface Serving<Doc extends object, Hidden extends object> {
  /** `/v2/accounts/{account_id}/groups`, for example. */
  path: string
  /** The variable of the path of one record, if it is not named after the kind: `group_id`. */
  variable?: string
  /** For summaries: one record with its article, and many. */
  called: readonly [one: string, many: string]
  /** The shape of a row of the list. */
  row: TSchema
  /** A body for examples and tests, if the smallest one that the schema accepts is not enough. */
  sample?: Json
  /**
   * The policy of each operation, and the additional parts of its route. An operation that is absent has no
   * route.
   */
  routes: Partial<Record<Operation, RouteNotes>>
  /** Without it: the stored rows, which are the same for all callers. */
  list?(call: Call): Listing<ListRow>
  /** What responses contain beyond the record. */
  shown?(record: StoredRecord<Doc, Hidden>): Extras | Promise<Extras>
  /** Paths of valid data that have no effect. */
  warns?(data: Json): readonly Warning[]
  /** Throws if a caller of the route may not change a record of the account. */
  assertMayChange?(actor: Actor, record: StoredRecord<Doc, Hidden>): void
  /** Called after a record was replaced or patched. */
  afterChange?(call: Call<string, Json>, record: StoredRecord<Doc, Hidden>): Promise<void>
}

/** All six operations with one policy, and what single routes have beyond the usual. */
export const everyOperation = (
  allow: Policy,
  notes: Partial<Record<Operation, Partial<RouteNotes>>> = {},
) => {
  const spec = (operation: Operation) => ({ allow, ...notes[operation] })
  return {
    list: spec('list'),
    create: spec('create'),
    read: spec('read'),
    replace: spec('replace'),
    patch: spec('patch'),
    delete: spec('delete'),
  }
}

/** What serves the records of one kind over HTTP: list, create, read (with its history), replace, patch and delete, schema and import. */
export const recordRoutes = <Doc extends object, Hidden extends object>(
  records: RecordOperations<Doc, Hidden>,
  serving: Serving<Doc, Hidden>,
): Required<Pick<Contributions, 'routes' | 'schemas' | 'adoptions'>> => {
  const {
    path,
    called,
    row,
    routes,
    sample,
    shown = () => ({}),
    warns,
    assertMayChange,
    afterChange,
  } = serving
  const { kind, shape, ownerOf, problems, adoption } = records
  const { list = ({ account }: Call) => cachedListing(records, ownerOf(account)), variable = `${kind}_id` } =
    serving
  const [single, many] = called
  const onePath = `${path}/{${variable}}`

  type Found = StoredRecord<Doc, Hidden>
  type OfOne = Call<string, Json, Found>
  type Place = Pick<Call, 'account' | 'actor'> & { path: Readonly<Record<string, string>> }

  const subject = ({ account, path: variables }: Place) =>
    records.get(ownerOf(account), variables[variable] ?? '')

  const ownSubject = async (call: Place) => {
    const record = await subject(call)
    assertMayChange?.(call.actor, record)
    return record
  }

  const change = async (call: OfOne) => {
    const after = await records.replace(call, call.subject, call.data)
    await afterChange?.(call, after)
    return one(after, await shown(after))
  }

  const writing = {
    body: shape.body,
    answers: shape.record,
    ...(sample ? { sample } : {}),
    // A new record has no subject.
    judge: ({ account, actor, data, subject: before }: Call<string, Json, Found | undefined>) =>
      problems({ account, actor, data, before }),
    ...(warns ? { warns: ({ data }: OfOne) => warns(data) } : {}),
  }
  const changing = { ...writing, subject: ownSubject, run: change }

  const route = (
    operation: Operation,
    define: typeof get,
    at: string,
    usual: Omit<RouteSpec<string, TSchema, Found>, 'allow'>,
  ) => {
    const spec = routes[operation]
    return spec ? [define(at, { ...usual, ...spec })] : []
  }

  return {
    routes: [
      ...route('list', get, path, {
        summary: `List the ${many} of an account`,
        answers: row,
        list: true,
        run: (call) => new ListResponse(list(call)),
      }),
      ...route('create', put, path, {
        summary: `Create ${single}`,
        ...writing,
        async run(call: OfOne) {
          const record = await records.create(call, call.data)
          return made(record, await shown(record))
        },
      }),
      ...route('read', get, onePath, {
        summary: `Read ${single}`,
        record: { kind },
        subject,
        answers: shape.record,
        run: async ({ subject: record }) => one(record, await shown(record)),
      }),
      ...route('replace', post, onePath, { summary: `Replace ${single}`, ...changing }),
      ...route('patch', patch, onePath, { summary: `Change fields of ${single}`, ...changing }),
      ...route('delete', del, onePath, {
        summary: `Delete ${single}`,
        subject,
        answers: shape.record,
        async run({ author, subject: record }) {
          const extras = await shown(record)
          await records.remove({ author }, record)
          return removed(record, extras)
        },
      }),
    ],
    schemas: { [path.split('/').at(-1) ?? '']: shape.body },
    adoptions: { [kind]: adoption },
  }
}
