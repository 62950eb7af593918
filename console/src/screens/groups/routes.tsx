import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { GroupList } from './list.tsx'
import { NewGroup } from './new.tsx'
import { GroupRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('groups')}>
      <GroupList />
    </Route>
    <Route path={at('groups/new')}>
      <NewGroup />
    </Route>
    <Route path={at('groups/:groupId')}>
      <GroupRecord />
    </Route>
  </Switch>
)
