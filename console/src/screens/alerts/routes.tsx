import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, Switch, useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { ApiTab } from '../../parts/api-tab.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Allotments } from './allotments.tsx'
import { OperatorLimits, OwnLimits } from './limits.tsx'
import { AlertList } from './list.tsx'
import { NewAlert } from './new.tsx'

/** What is wrong, and what is bounded. */
const Sections = () => {
  const { t } = useTranslation()
  const { accountId, isOwn, actsForMaster } = usePlace()
  const { section = 'open' } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  return (
    <Screen
      title={t('screens.alerts')}
      actions={actsForMaster && <ButtonToScreen to={to('alerts/new')}>{t('alerts.new')}</ButtonToScreen>}
    >
      <Tabs
        value={section}
        onChange={(next) => go(to(next === 'open' ? 'alerts' : `alerts/${next}`))}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="open">{t('alerts.open')}</Tabs.Tab>
          <Tabs.Tab value="limits">{t('alerts.limits')}</Tabs.Tab>
          {(!isOwn || actsForMaster) && <Tabs.Tab value="operator">{t('alerts.operatorLimits')}</Tabs.Tab>}
          <Tabs.Tab value="allotments">{t('alerts.allotments')}</Tabs.Tab>
          <Tabs.Tab value="api">API</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="open">
          <AlertList />
        </Tabs.Panel>
        <Tabs.Panel value="limits">
          <OwnLimits />
        </Tabs.Panel>
        <Tabs.Panel value="operator">
          <OperatorLimits />
        </Tabs.Panel>
        <Tabs.Panel value="allotments">
          <Allotments />
        </Tabs.Panel>
        <Tabs.Panel value="api">
          <ApiTab path={`/v2/accounts/${accountId}/alerts`} />
        </Tabs.Panel>
      </Tabs>
    </Screen>
  )
}

export const Routes = () => (
  <Switch>
    <Route path={at('alerts/new')}>
      <NewAlert />
    </Route>
    <Route path={at('alerts/:section?')}>
      <Sections />
    </Route>
  </Switch>
)
