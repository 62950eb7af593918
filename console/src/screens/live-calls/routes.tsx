import { Route } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { LiveCallList } from './list.tsx'

export const Routes = () => (
  <Route path={at('live-calls')}>
    <LiveCallList />
  </Route>
)
