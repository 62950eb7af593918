import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { ApiKeyList } from './list.tsx'
import { NewApiKey } from './new.tsx'
import { ApiKeyRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('api-keys')}>
      <ApiKeyList />
    </Route>
    <Route path={at('api-keys/new')}>
      <NewApiKey />
    </Route>
    <Route path={at('api-keys/:keyId')}>
      <ApiKeyRecord />
    </Route>
  </Switch>
)
