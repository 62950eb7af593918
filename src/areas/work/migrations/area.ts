import { accountAdmin } from '../../../auth/policies.ts'
import { ApiResponse } from '../../../http/response/responses.ts'
import { get, post, type Route } from '../../../http/route.ts'
import { datastoreConflict } from '../../../lib/failure.ts'
import {
  anyText,
  choice,
  closed,
  flag,
  gregorian,
  integer,
  keyed,
  list,
  must,
  open,
  typed,
} from '../../../lib/schema.ts'
import { on } from '../../../storage/signal.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { createMigrations, type Migrations } from './operations.ts'
import { reachIn, reachProblems } from './store.ts'

const by = {
  auth_account_id: anyText({ description: 'The account of the requester' }),
  auth_account_name: anyText(),
  auth_user_id: anyText({ description: 'Absent for requests with an API key' }),
  auth_user_name: anyText(),
  original_auth_account_id: anyText({ description: 'The impersonator' }),
  original_auth_owner_id: anyText(),
}

const MigrationList = keyed(anyText(), {
  title: 'Migrations by id',
  description: 'Function of each one',
})

const onOrOff = (description: string) => typed(['boolean', 'string'], { description })

/** What a client sends. `perform_migration` is checked before the id, so not by the schema. */
const MigrationOrder = open(
  {
    perform_migration: typed(['string', 'integer', 'boolean', 'object', 'array'], {
      description: 'Must be `now`',
    }),
    include_descendants: onOrOff('`true` or `false`: also for all sub-accounts. Default: false'),
    include_resellers: onOrOff('`true` or `false`: also for sub-accounts that are resellers. Default: false'),
  },
  { title: 'Order of a migration' },
)

const MigrationRun = closed(
  {
    id: must(anyText()),
    status: must(choice(['waiting', 'running', 'finished'])),
    include_descendants: must(flag()),
    include_resellers: must(flag()),
    requested_time: must(gregorian('Time of the request')),
    started_time: gregorian('Time of the first account'),
    ended_time: gregorian('Time of the last account'),
    total: must(integer({ description: 'The accounts there were when it was asked for' })),
    performed: must(integer()),
    failed: must(integer()),
    skipped: must(integer({ description: 'Resellers that were left out' })),
    changed: must(integer({ description: 'Number of repairs' })),
    failures: must(
      list(closed({ account_id: must(anyText()), message: must(anyText()) }), {
        description: 'The first 100 accounts that failed. They are not marked as done',
      }),
    ),
    ...by,
  },
  { title: 'Run of a migration' },
)

const MigrationSummary = closed(
  {
    id: must(anyText()),
    description: must(anyText()),
    performed: must(flag({ description: 'Whether it is complete for this account' })),
    performed_time: gregorian('Time of its last run'),
    changed: integer({ description: 'Number of repairs in this account' }),
    ...by,
    run: MigrationRun,
  },
  { title: 'Migration of an account' },
)

const MigrationAnswer = closed(
  {
    performed_on: list(anyText(), {
      description:
        'The accounts that went through it; absent before the run has ended, and when they are over 1000',
    }),
    run: must(MigrationRun),
  },
  { title: 'Outcome of a migration' },
)

const migrationsPath = '/v2/accounts/{account_id}/migrations'
const migrationPath = `${migrationsPath}/{migration_id}` as const

const migrationRoutes = (migrations: Migrations): Route[] => [
  get(migrationsPath, {
    summary: 'List the available migrations',
    allow: accountAdmin,
    answers: MigrationList,
    run: () => migrations.list(),
  }),
  get(migrationPath, {
    summary: 'Read the state of a migration and of its last run',
    record: { kind: 'migration' },
    allow: accountAdmin,
    answers: MigrationSummary,
    run: ({ account, path }) => migrations.read(account, path.migration_id),
  }),
  post(migrationPath, {
    summary: 'Run a migration; the response is 202 if it continues in the background after two seconds',
    allow: accountAdmin,
    body: MigrationOrder,
    judge: async ({ request }) => reachProblems((name) => request.value(name)),
    answers: MigrationAnswer,
    fails: [datastoreConflict],
    async run({ actor, author, account, path, request }) {
      const reach = reachIn((name) => request.value(name))
      const order = { actor, author, account, id: path.migration_id, reach }
      const { isDone, data } = await migrations.perform({
        ...order,
        moment: request.value('perform_migration'),
      })
      return new ApiResponse({ data, status: isDone ? 200 : 202 })
    },
  }),
]

export const migrationsArea = area({
  name: 'migrations',
  kinds: { migration: 'migrations', migration_run: 'runs of migrations' },
  describes: { migrations: 'Repairs of stored records on request.' },
  collects: ['migrations'],
  create(tools, _needs, collected) {
    const migrations = createMigrations({ ...tools, ...collected })
    return {
      routes: migrationRoutes(migrations),
      jobs: migrations.jobs,
      hears: [on(accountDeleted, migrations.removeWith)],
      stop: migrations.stop,
    }
  },
})
