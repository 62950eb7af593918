import { typeNamesOf } from '../../../events/events.ts'
import { deleteOldRows } from '../../../jobs/scheduler.ts'
import { createWaker } from '../../../jobs/waker.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { on } from '../../../storage/signal.ts'
import { accountsArea } from '../../accounts/accounts/area.ts'
import { accountDeleted } from '../../accounts/accounts/signals.ts'
import { area } from '../../area.ts'
import { alertsArea } from '../alerts/area.ts'
import { createWebhookSender } from './deliveries/courier.ts'
import { createDispatcher } from './deliveries/dispatcher.ts'
import { createSender } from './deliveries/sender.ts'
import { createAttemptStore, createDeliveryStore } from './deliveries/store.ts'
import { webhookDisabledNotice } from './notices.ts'
import { createWebhooks } from './operations.ts'
import { webhookRoutes } from './routes.ts'
import { webhookSettings } from './settings.ts'
import { createWebhookStore } from './store.ts'

const attemptSeconds = 31 * 86_400

export const webhooksArea = area({
  name: 'webhooks',
  kinds: { webhook: 'webhooks' },
  events: {
    'webhook.disabled':
      'Extra: a webhook failed for a day and is disabled. Record: `webhook`. `after`: the webhook, `disable_reason`',
    'webhook.replayed':
      'Change: an admin asked for a replay of a webhook. Record: `webhook`. `after`: the request',
  },
  describes: { webhooks: 'Webhooks of accounts and their deliveries.' },
  needs: { accounts: accountsArea, alerts: alertsArea },
  settings: [webhookSettings],
  notices: [webhookDisabledNotice],
  create(tools, { accounts, alerts }) {
    const { store, settings } = tools
    const { clock } = store
    const hooks = createWebhookStore(store)
    const rows = createDeliveryStore(store)
    const attempts = createAttemptStore(store)
    const courier = createWebhookSender(tools)
    const sending = createWaker()
    const parts = { ...tools, accounts, alerts, hooks, rows, attempts, courier, sending }
    const webhooks = createWebhooks({ ...parts, typeNames: typeNamesOf(tools.declared) })
    return {
      offers: webhooks,
      ...webhookRoutes({ webhooks, settings, clock }),
      jobs: [
        createDispatcher(parts),
        createSender({ ...parts, switchOff: webhooks.switchOff }),
        deleteOldRows(store, {
          name: 'webhook attempts',
          table: 'webhook_attempts',
          key: ['account_id', 'id'],
          where: 'at < $1',
          before: () => gregorianNow(clock) - attemptSeconds,
        }),
      ],
      hears: [on(accountDeleted, webhooks.removeWith)],
    }
  },
})
