import { Tabs } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Route, Switch, useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { at } from '../../lib/addresses.ts'
import { ApiTab } from '../../parts/api-tab.tsx'
import { Screen } from '../../parts/screen.tsx'
import { AuditEntry } from './audit-entry.tsx'
import { AuditList } from './list.tsx'
import { LiveFeed } from './live.tsx'
import { WebhookList } from './webhooks/list.tsx'
import { NewWebhook } from './webhooks/new.tsx'
import { WebhookRecord } from './webhooks/record.tsx'

/** Who changed what, what happens just now, and who outside is told of it. */
const Sections = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { section = 'audit' } = useParams()
  const [, go] = useLocation()
  const to = useTo()
  return (
    <Screen title={t('screens.events')}>
      <Tabs
        value={section}
        onChange={(next) => go(to(next === 'audit' ? 'events' : `events/${next}`))}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="audit">{t('events.audit')}</Tabs.Tab>
          <Tabs.Tab value="live">{t('events.live')}</Tabs.Tab>
          <Tabs.Tab value="webhooks">{t('events.webhooks')}</Tabs.Tab>
          <Tabs.Tab value="api">API</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="audit">
          <AuditList />
        </Tabs.Panel>
        <Tabs.Panel value="live">
          <LiveFeed />
        </Tabs.Panel>
        <Tabs.Panel value="webhooks">
          <WebhookList />
        </Tabs.Panel>
        <Tabs.Panel value="api">
          <ApiTab path={`/v2/accounts/${accountId}/audit`} />
        </Tabs.Panel>
      </Tabs>
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
