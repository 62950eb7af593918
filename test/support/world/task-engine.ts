// The task engine with an action of a test's own, without HTTP: several "processes" on one store.

import type {
  InputAction,
  TaskAction,
  TaskOrder,
  TaskRecord,
} from '../../../src/areas/work/tasks/operations.ts'
import { createTasks } from '../../../src/areas/work/tasks/operations.ts'
import type { AccountHidden, AccountRecord, Actor } from '../../../src/auth/identity.ts'
import { accountMember } from '../../../src/auth/policies.ts'
import { createLeases } from '../../../src/jobs/leases.ts'
import { createScheduler } from '../../../src/jobs/scheduler.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { newId } from '../../../src/lib/ids.ts'
import type { Json } from '../../../src/lib/json.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createSettings, settingsKind } from '../../../src/settings/settings.ts'
import { ChangeSet, conflict, systemScope } from '../../../src/storage/change-set.ts'
import { createCollection } from '../../../src/storage/collection.ts'
import type { Database } from '../../../src/storage/db.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import { eventually } from '../run/eventually.ts'
import { createTestLog } from '../run/log.ts'
import { type Engine, openTestDatabase } from '../servers/databases.ts'

const author = { requestId: 'test' }

const hidden: AccountHidden = {
  tree: [],
  isReseller: false,
  isSuperduper: false,
  allowsNumberAdditions: false,
  enabled: true,
  signatureSecret: '',
  signInSalt: '',
  sealedApiKey: '',
  apiKeyHash: '',
  nameClaim: '',
}

export interface Note {
  /** How often the row that wrote it was done. */
  times: number
}

interface NoteState {
  times: number
}

/** Effects of rows on notes. `look` gets every call before it is handled. */
export const createNotes = (store: Store, look: (names: string[]) => Promise<void> | void = () => {}) => {
  const notes = createCollection<Note, object>(store, {
    kind: 'note',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
  const action: InputAction<NoteState> = {
    category: 'notes',
    action: 'write',
    description: 'Write notes',
    doc: 'One note for each row.',
    allow: accountMember,
    input: 'csv',
    mandatory: ['name'],
    optional: ['do'],
    openPrefix: 'opaque.',
    verifiers: {
      name: (cell) => {
        if (cell === 'verifier crash') throw new Error('the verifier crashed')
        return !cell.startsWith('bad')
      },
    },
    output: ['name', 'times', 'never', 'error'],
    key: (cells) => cells.name ?? '',
    errorOf: ({ kind }) => `lost: ${kind.name}`,
    async run(rows, { account, author: by }) {
      await look(rows.map(({ cells }) => cells.name ?? ''))
      return Promise.all(
        rows.map(async ({ cells, earlier }) => {
          const name = cells.name ?? ''
          if (cells.do === 'crash') throw new Error('the action crashed')
          if (cells.do === 'stop') return { outcome: 'stop' as const }
          if (cells.do === 'fail') return { outcome: 'failed' as const, error: 'as asked' }
          const before = await notes.find(account.id, name)
          const times = (earlier?.times ?? before?.doc.times ?? 0) + 1
          const set = new ChangeSet(by)
          if (before) notes.replace(set, before, notes.revise(before, { doc: { times } }))
          else notes.insert(set, notes.draft(account.id, { doc: { times }, hidden: {} }, name))
          if (cells.do === 'collide')
            set.run('DELETE FROM claims WHERE 1 = 0', [], { rows: 1, orElse: conflict })
          return { outcome: 'done' as const, changes: set, output: [{ name, times }], state: { times } }
        }),
      )
    },
  }
  return { notes, action: action as TaskAction }
}

/** The parts of a process: everything except the content of the store. */
const createProcess = (db: Database, node: string, actionsOf: (store: Store) => readonly TaskAction[]) => {
  const store = createStore(db, systemClock)
  const { log, errors } = createTestLog()
  const leases = createLeases(store, systemClock, log)
  const scheduler = createScheduler({ leases, store, clock: systemClock, log })
  const settings = createSettings(store.records, node)
  const tasks = createTasks({
    store,
    settings,
    leases,
    scheduler,
    log,
    metrics: createMetrics(),
    node,
    actions: actionsOf(store),
    quotas: { requireRoomForInput: async () => undefined },
    // These users have no address.
    mail: { notify: async () => undefined },
  })
  for (const round of tasks.jobs) scheduler.add(round)
  return {
    store,
    tasks,
    node,
    leases,
    takeErrors: errors,
    /** Starts waiting tasks, and continues to do so. */
    start: () => scheduler.start(),
    sweep: () => scheduler.runNow('task leftovers'),
    async stop() {
      // Its tasks get the signal before anything is waited for.
      await Promise.all([tasks.stop(), scheduler.stop()])
      await leases.stop()
    },
  }
}

export type Process = ReturnType<typeof createProcess>

const textOf = async (chunks: AsyncIterable<string | Uint8Array>) => {
  let text = ''
  for await (const chunk of chunks) text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
  return text
}

/** A store with an account in it. `actionsOf` makes the actions of each process on it. */
export const openTaskStore = async (engine: Engine) => {
  const database = await openTestDatabase(engine)
  const store = createStore(database.db, systemClock)
  const accounts = createCollection<{ name: string; realm: string }, AccountHidden>(store, {
    kind: 'account',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
  const configs = createCollection<Json, Json>(store, {
    kind: settingsKind,
    sortKey: () => '',
    row: () => ({}),
  })
  const processes: Process[] = []
  let made = 0

  /** Ends all processes, so that none takes up what the next test begins. */
  const stopProcesses = async () => {
    await Promise.all(processes.splice(0).map((one) => one.stop()))
  }

  const account = async () => {
    const id = newId(systemClock.now())
    const record = accounts.draft(id, { doc: { name: id, realm: id }, hidden }, id)
    const set = new ChangeSet(author)
    accounts.insert(set, record)
    await store.commit(set)
    return record as unknown as AccountRecord
  }

  return {
    store,
    account,
    accounts,

    /** Another process on the same store. */
    process(actionsOf: (store: Store) => readonly TaskAction[], node = `node-${made}`): Process {
      made += 1
      const db = processes.length === 0 ? database.db : database.reopen()
      const process = createProcess(db, node, actionsOf)
      processes.push(process)
      return process
    },

    stopProcesses,

    async configure(values: Json) {
      const set = new ChangeSet(author)
      const before = await configs.find(systemScope, 'tasks')
      const doc = { default: values }
      if (before) configs.replace(set, before, configs.revise(before, { doc }))
      else configs.insert(set, configs.draft(systemScope, { doc, hidden: {} }, 'tasks'))
      await store.commit(set)
    },

    async close() {
      await stopProcesses()
      await database.close()
    },
  }
}

export type TaskStore = Awaited<ReturnType<typeof openTaskStore>>

const actorOf = (account: AccountRecord): Actor => ({
  accountId: account.id,
  account,
  user: undefined,
  method: 'cb_api_auth',
  claims: undefined,
  token: undefined,
})

async function* piecesOf(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

/** The operations on tasks of a user with the rights of an account, in one process. */
export const operate = ({ tasks, store }: Process, account: AccountRecord) => {
  const get = async (id: unknown): Promise<TaskRecord> => {
    await store.fence()
    return tasks.get(account.id, String(id))
  }

  const operation = {
    async make(csv: string | undefined, more: Partial<TaskOrder> = {}) {
      const view = await tasks.make({
        actor: actorOf(account),
        author,
        account,
        category: 'notes',
        action: 'write',
        input: csv === undefined ? { kind: 'none' } : { kind: 'csv', chunks: piecesOf(csv) },
        fileName: undefined,
        dryRun: false,
        parameter: () => undefined,
        ...more,
      })
      return String(view.id)
    },
    async start(id: string) {
      return tasks.start(author, await get(id))
    },
    async begin(csv: string | undefined, more: Partial<TaskOrder> = {}) {
      const id = await operation.make(csv, more)
      await operation.start(id)
      return id
    },
    async halt(id: string) {
      return tasks.halt(author, await get(id))
    },
    async remove(id: string) {
      return tasks.remove(author, await get(id), actorOf(account))
    },
    async retry(id: string, dryRun?: boolean) {
      return String(
        (await tasks.retry(await get(id), { actor: actorOf(account), author, account }, dryRun)).id,
      )
    },
    async continue(id: string) {
      return String((await tasks.continue(await get(id), { actor: actorOf(account), author, account })).id)
    },
    async view(id: string) {
      return tasks.view(await get(id), actorOf(account))
    },
    async output(id: string) {
      return textOf(await tasks.read(await get(id), 'out.csv', { actor: actorOf(account), account }))
    },
    async input(id: string) {
      return textOf(await tasks.read(await get(id), 'in.csv', { actor: actorOf(account), account }))
    },
    ended(id: string) {
      return eventually(
        () => operation.view(id),
        ({ status }) => status !== 'executing' && status !== 'pending',
      )
    },
  }
  return operation
}
