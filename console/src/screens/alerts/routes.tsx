import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SectionTabs } from '../../parts/section-tabs.tsx'
import { Allotments } from './allotments.tsx'
import { OperatorLimits, OwnLimits } from './limits.tsx'
import { AlertList } from './list.tsx'
import { NewAlert } from './new.tsx'

/** Alerts and limits. */
const Sections = () => {
  const { t } = useTranslation()
  const { accountId, isOwn, actsForMaster } = usePlace()
  const to = useTo()
  return (
    <Screen
      title={t('screens.alerts')}
      actions={actsForMaster && <ButtonToScreen to={to('alerts/new')}>{t('alerts.new')}</ButtonToScreen>}
    >
      <SectionTabs
        screen="alerts"
        sections={[
          { id: 'open', title: t('alerts.open'), content: <AlertList /> },
          { id: 'limits', title: t('alerts.limits'), content: <OwnLimits /> },
          {
            id: 'operator',
            title: t('alerts.operatorLimits'),
            content: <OperatorLimits />,
            isHidden: isOwn && !actsForMaster,
          },
          { id: 'allotments', title: t('alerts.allotments'), content: <Allotments /> },
        ]}
        api={{ path: `/v2/accounts/${accountId}/alerts` }}
      />
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
