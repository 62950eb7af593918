import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { NumberList } from './list.tsx'
import { NewNumbers } from './new.tsx'
import { NumberRecord } from './record.tsx'
import { NumberStock } from './stock.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('numbers')}>
      <NumberList />
    </Route>
    <Route path={at('numbers/stock')}>
      <NumberStock />
    </Route>
    <Route path={at('numbers/new')}>
      <NewNumbers />
    </Route>
    <Route path={at('numbers/:number')}>
      <NumberRecord />
    </Route>
  </Switch>
)
