import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { CallCharts } from './charts.tsx'
import { CallList } from './list.tsx'
import { CallRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('calls')}>
      <CallList />
    </Route>
    <Route path={at('calls/charts')}>
      <CallCharts />
    </Route>
    <Route path={at('calls/:cdrId')}>
      <CallRecord />
    </Route>
  </Switch>
)
