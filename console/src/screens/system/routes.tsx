import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, Switch, useLocation, useParams } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { ApiTab } from '../../parts/api-tab.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Health } from './health.tsx'
import { MigrationList } from './migrations/list.tsx'
import { MigrationRecord } from './migrations/record.tsx'
import { SettingsList } from './settings/list.tsx'
import { SettingsRecord } from './settings/record.tsx'
import { WorkList } from './work.tsx'

/** What the operator of the server sees and sets. */
const Sections = () => {
  const { t } = useTranslation()
  const { section = 'health' } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  return (
    <Screen title={t('screens.system')}>
      <Tabs
        value={section}
        onChange={(next) => go(to(next === 'health' ? 'system' : `system/${next}`))}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="health">{t('system.health')}</Tabs.Tab>
          <Tabs.Tab value="settings">{t('system.settings')}</Tabs.Tab>
          <Tabs.Tab value="migrations">{t('system.migrations')}</Tabs.Tab>
          <Tabs.Tab value="work">{t('system.work')}</Tabs.Tab>
          <Tabs.Tab value="api">API</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="health">
          <Health />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <SettingsList />
        </Tabs.Panel>
        <Tabs.Panel value="migrations">
          <MigrationList />
        </Tabs.Panel>
        <Tabs.Panel value="work">
          <WorkList />
        </Tabs.Panel>
        <Tabs.Panel value="api">
          <ApiTab path="/v2/" most={6} />
        </Tabs.Panel>
      </Tabs>
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
