import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { UserList } from './list.tsx'
import { NewUser } from './new.tsx'
import { UserRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('users')}>
      <UserList />
    </Route>
    <Route path={at('users/new')}>
      <NewUser />
    </Route>
    <Route path={at('users/:userId')}>
      <UserRecord />
    </Route>
  </Switch>
)
