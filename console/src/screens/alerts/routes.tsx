import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Screen } from '../../parts/screen.tsx'
import { AlertList } from './list.tsx'
import { NewAlert } from './new.tsx'

const Alerts = () => {
  const { t } = useTranslation()
  const { actsForMaster } = usePlace()
  const to = useTo()
  return (
    <Screen
      title={t('alerts.open')}
      actions={actsForMaster && <ButtonToScreen to={to('alerts/new')}>{t('alerts.new')}</ButtonToScreen>}
    >
      <AlertList />
    </Screen>
  )
}

export const Routes = () => (
  <Switch>
    <Route path={at('alerts')}>
      <Alerts />
    </Route>
    <Route path={at('alerts/new')}>
      <NewAlert />
    </Route>
  </Switch>
)
