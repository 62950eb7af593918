import { on } from '../../../storage/signal.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { createMigrations } from './operations.ts'
import { migrationRoutes } from './routes.ts'

/** Things of accounts that are put right, when somebody asks for it. */
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
