import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { Screen } from '../../parts/screen.tsx'
import { SectionTabs } from '../../parts/section-tabs.tsx'
import { Health } from './health.tsx'
import { MigrationList } from './migrations/list.tsx'
import { MigrationRecord } from './migrations/record.tsx'
import { SettingsList } from './settings/list.tsx'
import { SettingsRecord } from './settings/record.tsx'
import { WorkList } from './work.tsx'

/** What the operator of the server sees and sets. */
const Sections = () => {
  const { t } = useTranslation()
  return (
    <Screen title={t('screens.system')}>
      <SectionTabs
        screen="system"
        sections={[
          { id: 'health', title: t('system.health'), content: <Health /> },
          { id: 'settings', title: t('system.settings'), content: <SettingsList /> },
          { id: 'migrations', title: t('system.migrations'), content: <MigrationList /> },
          { id: 'work', title: t('system.work'), content: <WorkList /> },
        ]}
        api={{ path: '/v2/', most: 6 }}
      />
    </Screen>
  )
}

export const Routes = () => (
  <Switch>
    <Route path={at('system/settings/:configId')}>
      <SettingsRecord />
    </Route>
    <Route path={at('system/migrations/:migrationId')}>
      <MigrationRecord />
    </Route>
    <Route path={at('system/:section?')}>
      <Sections />
    </Route>
  </Switch>
)
