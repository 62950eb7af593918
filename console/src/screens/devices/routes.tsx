import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { DeviceList } from './list.tsx'
import { NewDevice } from './new.tsx'
import { DeviceRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('devices')}>
      <DeviceList />
    </Route>
    <Route path={at('devices/new')}>
      <NewDevice />
    </Route>
    <Route path={at('devices/:deviceId')}>
      <DeviceRecord />
    </Route>
  </Switch>
)
