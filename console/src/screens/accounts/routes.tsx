import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { AccountList } from './list.tsx'
import { NewAccount } from './new.tsx'
import { AccountRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('accounts')}>
      <AccountList />
    </Route>
    <Route path={at('accounts/new/:newId?/:step?')}>
      <NewAccount />
    </Route>
    <Route path={at('accounts/:childId')}>
      <AccountRecord />
    </Route>
  </Switch>
)
