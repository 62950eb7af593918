import { Route } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { QuotaScreen } from './show.tsx'

export const Routes = () => (
  <Route path={at('quotas')}>
    <QuotaScreen />
  </Route>
)
