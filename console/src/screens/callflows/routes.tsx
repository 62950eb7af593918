import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { CallflowList } from './list.tsx'
import { NewCallflow } from './new.tsx'
import { CallflowRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('callflows')}>
      <CallflowList />
    </Route>
    <Route path={at('callflows/new')}>
      <NewCallflow />
    </Route>
    <Route path={at('callflows/:callflowId')}>
      <CallflowRecord />
    </Route>
  </Switch>
)
