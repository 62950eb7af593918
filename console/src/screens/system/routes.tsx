import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { Screen } from '../../parts/screen.tsx'
import { Health } from './health.tsx'
import { JobRecord } from './job.tsx'
import { MigrationList } from './migrations/list.tsx'
import { MigrationRecord } from './migrations/record.tsx'
import { SettingsList } from './settings/list.tsx'
import { SettingsRecord } from './settings/record.tsx'
import { WorkList } from './work.tsx'

/** What the operator of the server sees and sets. */
export const Routes = () => {
  const { t } = useTranslation()
  return (
    <Switch>
      <Route path={at('system')}>
        <Screen title={t('system.health')}>
          <Health />
        </Screen>
      </Route>
      <Route path={at('system/settings')}>
        <Screen title={t('system.settings')}>
          <SettingsList />
        </Screen>
      </Route>
      <Route path={at('system/settings/:configId')}>
        <SettingsRecord />
      </Route>
      <Route path={at('system/migrations')}>
        <Screen title={t('system.migrations')}>
          <MigrationList />
        </Screen>
      </Route>
      <Route path={at('system/migrations/:migrationId')}>
        <MigrationRecord />
      </Route>
      <Route path={at('system/work/:kind/:jobId')}>
        <JobRecord />
      </Route>
      <Route path={at('system/work')}>
        <Screen title={t('system.work')}>
          <WorkList />
        </Screen>
      </Route>
    </Switch>
  )
}
