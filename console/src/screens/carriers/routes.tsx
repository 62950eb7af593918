import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { CarrierList } from './list.tsx'
import { NewCarrier } from './new.tsx'
import { CarrierRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('carriers')}>
      <CarrierList scopeName="account" />
    </Route>
    <Route path={at('carriers/new')}>
      <NewCarrier scopeName="account" />
    </Route>
    <Route path={at('carriers/system')}>
      <CarrierList scopeName="system" />
    </Route>
    <Route path={at('carriers/system/new')}>
      <NewCarrier scopeName="system" />
    </Route>
    <Route path={at('carriers/system/:carrierId')}>
      <CarrierRecord scopeName="system" />
    </Route>
    <Route path={at('carriers/:carrierId')}>
      <CarrierRecord scopeName="account" />
    </Route>
  </Switch>
)
