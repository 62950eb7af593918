import { useTranslation } from 'react-i18next'
import { Route, Switch } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { Screen } from '../../parts/screen.tsx'
import { SectionTabs } from '../../parts/section-tabs.tsx'
import { AuditEntry } from './audit-entry.tsx'
import { AuditList } from './list.tsx'
import { LiveFeed } from './live.tsx'
import { WebhookList } from './webhooks/list.tsx'
import { NewWebhook } from './webhooks/new.tsx'
import { WebhookRecord } from './webhooks/record.tsx'

/** Audit log, live events and webhooks. */
const Sections = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return (
    <Screen title={t('screens.events')}>
      <SectionTabs
        screen="events"
        sections={[
          { id: 'audit', title: t('events.audit'), content: <AuditList /> },
          { id: 'live', title: t('events.live'), content: <LiveFeed /> },
          { id: 'webhooks', title: t('events.webhooks'), content: <WebhookList /> },
        ]}
        api={{ path: `/v2/accounts/${accountId}/audit` }}
      />
    </Screen>
  )
}

export const Routes = () => (
  <Switch>
    <Route path={at('events/audit/:entryId')}>
      <AuditEntry />
    </Route>
    <Route path={at('events/webhooks/new')}>
      <NewWebhook />
    </Route>
    <Route path={at('events/webhooks/:webhookId')}>
      <WebhookRecord />
    </Route>
    <Route path={at('events/:section?')}>
      <Sections />
    </Route>
  </Switch>
)
