import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { TrunkList } from './list.tsx'
import { NewTrunk } from './new.tsx'
import { TrunkRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('trunks')}>
      <TrunkList />
    </Route>
    <Route path={at('trunks/new')}>
      <NewTrunk />
    </Route>
    <Route path={at('trunks/:trunkId')}>
      <TrunkRecord />
    </Route>
  </Switch>
)
