import { Route } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { EdgeList } from './list.tsx'

export const Routes = () => (
  <Route path={at('edges')}>
    <EdgeList />
  </Route>
)
