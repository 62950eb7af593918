import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { EdgeScreen } from './show.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('edge')}>
      <EdgeScreen />
    </Route>
    <Route path={at('edge/devices/:deviceId')}>
      <EdgeScreen />
    </Route>
  </Switch>
)
