import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { accountMember, anyone, anyToken, type Policy, superduper } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { ApiResponse, ListResponse, StreamResponse } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, put, type Route } from '../../../http/route.ts'
import { attachment } from '../../../http/transport/media.ts'
import { badIdentifierList } from '../../../lib/failure.ts'
import { isTrue } from '../../../lib/json.ts'
import { zip } from '../../../lib/list.ts'
import type { TaskInput, TaskRecord, Tasks, TaskView } from './operations.ts'
import { invalidTaskRequest } from './rules.ts'
import { NoData, TaskRecord as TaskAnswer, TaskHelp, TaskRequest } from './schema.ts'

const csvTypes = ['text/csv', 'text/comma-separated-values', 'application/octet-stream'] as const

const filledText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

/** The account in the path, or the caller's. */
const accountOf = ({ account, actor }: { account: AccountRecord | undefined; actor: Actor }) =>
  account ?? actor.account

const remakeOf = (call: TaskCall & Pick<Call, 'author'>) => {
  const { actor, author, subject } = call
  return { actor, author, account: subject.accountId === actor.accountId ? actor.account : accountOf(call) }
}

async function* noChunks(): AsyncGenerator<Uint8Array> {}

const taskInputOf = ({ stream, data, request }: Call<string, TaskRequest>): TaskInput => {
  if (stream) return { kind: 'csv', chunks: stream.chunks }
  const type = request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  // An empty CSV.
  if (csvTypes.some((csv) => csv === type)) return { kind: 'csv', chunks: noChunks() }
  const { records = [] } = data
  return records.length > 0 ? { kind: 'records', records } : { kind: 'none' }
}

/** The record is in `metadata`, not in `data`. */
const taskResponse = (view: TaskView, { revision }: Pick<TaskRecord, 'revision'>) =>
  new ApiResponse({
    data: {},
    metadata: view,
    revision,
    etag: `${revision}-${Number(view.success_count ?? 0) + Number(view.failure_count ?? 0)}`,
  })

const made = (view: TaskView) =>
  new ApiResponse({
    data: {},
    metadata: view,
    headers: { location: `/v2/accounts/${view.account_id}/tasks/${view.id}` },
  })

const fileName = ({ id, doc }: TaskRecord, name: string) => {
  const kind = /^(in|out)\.csv$/.test(name) ? `${doc.category}_${doc.action}_${id}_${name}` : name
  return kind.replace(/[^\w.-]/g, '_').slice(0, 200)
}

/** Newest first, because ids grow with time. */
const taskListing = (tasks: Tasks, accountId: string): Listing<[TaskRecord, TaskView]> => ({
  async page({ whole: _, ...request }) {
    const page = await tasks.page({ ...request, accountId })
    return [...zip(page, await tasks.views(page))]
  },
  cursor: ([task]) => [task.sortKey, task.id],
  row: ([, view]) => JSON.stringify(view),
  record: ([task, view]) => ({ ...view, modified: task.modified }),
})

const collectionRoutes = (tasks: Tasks): Route[] => [
  get('/v2/tasks', {
    summary: 'List the categories and actions of tasks',
    allow: anyone,
    query: { category: 'Only this category', action: 'Only this action of the category' },
    answers: TaskHelp,
    fails: [invalidTaskRequest],
    run: ({ query }) => tasks.help(query.get('category') || undefined, query.get('action') || undefined),
  }),
  get('/v2/accounts/{account_id}/tasks', {
    summary: 'List the tasks of an account, newest first',
    allow: accountMember,
    answers: TaskAnswer,
    list: true,
    run: ({ account }) => new ListResponse(taskListing(tasks, account.id)),
  }),
]

interface Asking {
  path: object
  account: AccountRecord
  actor: Actor
}

interface TaskCall extends Asking {
  subject: TaskRecord
}

/** The same routes with and without an account in the path. */
const routesBelow = <const Root extends string>(
  root: Root,
  { own, make }: { own: Policy; make: Policy },
  tasks: Tasks,
): Route[] => {
  const oneTask = `${root}/{task_id}` as const

  const taskIdOf = ({ path }: Asking) => (path as { task_id: string }).task_id
  const subject = (call: Asking) => tasks.get(accountOf(call).id, taskIdOf(call), call.actor)
  const operated = (call: Asking) => tasks.toOperate(accountOf(call).id, taskIdOf(call), call.actor)

  const csvOf = async (call: TaskCall, name: string) => {
    const { subject: task, actor } = call
    return new StreamResponse({
      contentType: 'text/csv',
      headers: attachment(fileName(task, name)),
      chunks: await tasks.read(task, name, { actor, account: accountOf(call) }),
    })
  }

  const aboutOne = { allow: own, subject, answers: NoData }
  const operatingOne = { allow: own, subject: operated, answers: NoData }

  return [
    put(root, {
      summary: 'Create a task with a CSV body, JSON records or no input',
      allow: make,
      query: {
        category: 'Description of the task',
        action: 'Description of the action',
        file_name: 'Name of the input file',
        dry_run: { flag: 'Validates every row and changes nothing' },
        quote_id: 'ID of a dry run: no row is charged more than its prices',
        created_from: 'For actions with a time range (Gregorian seconds)',
        created_to: 'The same',
      },
      body: TaskRequest,
      takesMany: true,
      streams: csvTypes,
      answers: NoData,
      fails: [badIdentifierList, invalidTaskRequest],
      run: async (call) => {
        const { actor, author, request, query } = call
        const view = await tasks.make({
          actor,
          author,
          account: accountOf(call),
          category: query.get('category') || undefined,
          action: query.get('action') || undefined,
          input: taskInputOf(call),
          fileName: filledText(query.get('file_name')) ?? filledText(call.data.file_name),
          dryRun: isTrue(request.value('dry_run')),
          quoteId: filledText(request.value('quote_id')),
          parameter: (name) => request.value(name),
        })
        return made(view)
      },
    }),
    get(oneTask, {
      summary: 'Read a task, or its input or output as CSV',
      record: { kind: 'task', owner: 'actor' },
      ...aboutOne,
      query: { csv_name: 'in.csv or out.csv; default for clients that accept CSV: out.csv' },
      produces: csvTypes,
      acceptsAnything: true,
      fails: [badIdentifierList],
      run: async (call) => {
        const { subject: task, request, query, actor } = call
        const name = query.get('csv_name') || undefined
        const isOpen = [undefined, '*/*'].includes(request.header('accept')) && !query.get('accept')
        if (request.accepts !== 'application/json' || (name && isOpen)) return csvOf(call, name ?? 'out.csv')
        return taskResponse(await tasks.view(task, actor), task)
      },
    }),
    patch(oneTask, {
      summary: 'Start a task',
      ...operatingOne,
      query: {
        accept_charges: { flag: 'false: rows that would charge the account of the token fail' },
      },
      run: async ({ author, subject: task, request }) => {
        const agreement = request.value('accept_charges')
        const refuses = agreement !== undefined && agreement !== '' && !isTrue(agreement)
        return new ApiResponse({ data: {}, metadata: await tasks.start(author, task, !refuses) })
      },
    }),
    patch(`${oneTask}/stop`, {
      summary: 'Stop a task; it runs no further rows',
      ...operatingOne,
      run: async ({ author, subject: task }) =>
        new ApiResponse({ data: {}, metadata: await tasks.halt(author, task), pageSize: 1 }),
    }),
    put(`${oneTask}/retry`, {
      summary: 'Create a new task from the failed rows of a finished one',
      ...operatingOne,
      query: { dry_run: { flag: 'Default: as in the old task' } },
      fails: [invalidTaskRequest],
      run: async (call) => {
        const dryRun = call.request.value('dry_run')
        const isGiven = dryRun !== undefined && dryRun !== ''
        return made(await tasks.retry(call.subject, remakeOf(call), isGiven ? isTrue(dryRun) : undefined))
      },
    }),
    put(`${oneTask}/continue`, {
      summary: 'Create a new task from the remaining rows of a stopped one',
      ...operatingOne,
      fails: [invalidTaskRequest],
      run: async (call) => made(await tasks.continue(call.subject, remakeOf(call))),
    }),
    del(oneTask, {
      summary: 'Delete a task that is not running',
      ...aboutOne,
      fails: [badIdentifierList],
      run: async ({ author, actor, subject: task }) =>
        new ApiResponse({ data: {}, metadata: await tasks.remove(author, task, actor) }),
    }),
    ...(
      [
        ['input', 'in.csv'],
        ['output', 'out.csv'],
      ] as const
    ).map(([file, name]) =>
      get(`${oneTask}/${file}`, {
        summary: `Read the ${file} of a task`,
        ...aboutOne,
        produces: csvTypes,
        acceptsAnything: true,
        fails: [badIdentifierList],
        run: (call) => csvOf(call, name),
      }),
    ),
  ]
}

export const taskRoutes = (tasks: Tasks): Route[] => [
  ...collectionRoutes(tasks),
  ...routesBelow('/v2/accounts/{account_id}/tasks', { own: accountMember, make: accountMember }, tasks),
  ...routesBelow('/v2/tasks', { own: anyToken, make: superduper }, tasks),
]
