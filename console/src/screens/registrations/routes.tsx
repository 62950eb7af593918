import { Route } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { RegistrationList } from './list.tsx'

export const Routes = () => (
  <Route path={at('registrations')}>
    <RegistrationList />
  </Route>
)
