import { Route, Switch } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { RateList } from './list.tsx'
import { NewRate } from './new.tsx'
import { RateRecord } from './record.tsx'
import { RateUpload, UploadPreview } from './upload.tsx'

export const Routes = () => {
  // Rates belong to the system; other accounts only look prices up.
  const { isMaster } = usePlace()
  return (
    <Switch>
      {isMaster && (
        <Route path={at('rates/new')}>
          <NewRate />
        </Route>
      )}
      {isMaster && (
        <Route path={at('rates/upload')}>
          <RateUpload />
        </Route>
      )}
      {isMaster && (
        <Route path={at('rates/upload/:taskId')}>
          <UploadPreview />
        </Route>
      )}
      {isMaster && (
        <Route path={at('rates/:rateId')}>
          <RateRecord />
        </Route>
      )}
      <Route path={at('rates')}>
        <RateList />
      </Route>
    </Switch>
  )
}
