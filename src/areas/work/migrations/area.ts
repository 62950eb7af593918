import { accountAdmin } from '../../../auth/policies.ts'
import { ApiResponse } from '../../../http/answer/answers.ts'
import { get, post, type Route } from '../../../http/route.ts'
import { datastoreConflict } from '../../../lib/failure.ts'
import { on } from '../../../storage/signal.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { createMigrations, type Migrations } from './operations.ts'
import { reachIn, reachProblems } from './rules.ts'
import { MigrationAnswer, MigrationList, MigrationOrder, MigrationSummary } from './schema.ts'

const all = '/v2/accounts/{account_id}/migrations'
const one = `${all}/{migration_id}` as const

export const migrationRoutes = (migrations: Migrations): Route[] => [
  get(all, {
    summary: 'List the migrations that can be performed',
    allow: accountAdmin,
    answers: MigrationList,
    run: () => migrations.list(),
  }),
  get(one, {
    summary: 'Tell whether a migration was performed, by whom and when, and how far its last run is',
    record: { kind: 'migration' },
    allow: accountAdmin,
    answers: MigrationSummary,
    run: ({ account, path }) => migrations.read(account, path.migration_id),
  }),
  post(one, {
    summary: 'Perform a migration; 202 when it takes more than two seconds and goes on in the background',
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
  describes: { migrations: 'Things of accounts that are put right when somebody asks for it.' },
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
