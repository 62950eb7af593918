import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { TaskList } from './list.tsx'
import { NewTask } from './new.tsx'
import { TaskRecord } from './record.tsx'

export const Routes = () => (
  <Switch>
    <Route path={at('tasks')}>
      <TaskList />
    </Route>
    <Route path={at('tasks/new')}>
      <NewTask />
    </Route>
    <Route path={at('tasks/:taskId')}>
      <TaskRecord />
    </Route>
  </Switch>
)
