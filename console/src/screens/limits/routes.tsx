import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { Screen } from '../../parts/screen.tsx'
import { Allotments } from './allotments.tsx'
import { OperatorLimits, OwnLimits } from './limits.tsx'

export const Routes = () => {
  const { t } = useTranslation()
  return (
    <Switch>
      <Route path={at('limits')}>
        <Screen title={t('alerts.limits')}>
          <OwnLimits />
        </Screen>
      </Route>
      <Route path={at('limits/operator')}>
        <Screen title={t('alerts.operatorLimits')}>
          <OperatorLimits />
        </Screen>
      </Route>
      <Route path={at('limits/allotments')}>
        <Screen title={t('alerts.allotments')}>
          <Allotments />
        </Screen>
      </Route>
    </Switch>
  )
}
