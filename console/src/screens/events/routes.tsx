import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { at } from '../../lib/addresses.ts'
import { Screen } from '../../parts/screen.tsx'
import { AuditEntry } from './audit-entry.tsx'
import { AuditList } from './list.tsx'
import { LiveFeed } from './live.tsx'
import { DeliveryList } from './webhooks/attempts.tsx'
import { WebhookList } from './webhooks/list.tsx'
import { NewWebhook } from './webhooks/new.tsx'
import { WebhookRecord } from './webhooks/record.tsx'

/** Audit log, live events and webhooks. */
export const Routes = () => {
  const { t } = useTranslation()
  return (
    <Switch>
      <Route path={at('events')}>
        <Screen title={t('events.audit')}>
          <AuditList />
        </Screen>
      </Route>
      <Route path={at('events/audit/:entryId')}>
        <AuditEntry />
      </Route>
      <Route path={at('events/live')}>
        <Screen title={t('events.live')}>
          <LiveFeed />
        </Screen>
      </Route>
      <Route path={at('events/deliveries')}>
        <DeliveryList />
      </Route>
      <Route path={at('events/webhooks')}>
        <WebhookList />
      </Route>
      <Route path={at('events/webhooks/new')}>
        <NewWebhook />
      </Route>
      <Route path={at('events/webhooks/:webhookId')}>
        <WebhookRecord />
      </Route>
    </Switch>
  )
}
