import { accountsArea } from './accounts/accounts/area.ts'
import { apiKeysArea } from './accounts/api-keys/area.ts'
import { figuresArea } from './accounts/figures/area.ts'
import { loginAttemptsArea } from './accounts/login-attempts/area.ts'
import { multiFactorArea } from './accounts/multi-factor/area.ts'
import { quotasArea } from './accounts/quotas/area.ts'
import { securityArea } from './accounts/security/area.ts'
import { signInArea } from './accounts/sign-in/area.ts'
import { tokenRestrictionsArea } from './accounts/token-restrictions/area.ts'
import { usersArea } from './accounts/users/area.ts'
import type { OffersOf } from './area.ts'
import { ledgersArea } from './billing/ledgers/area.ts'
import { limitsArea } from './billing/limits/area.ts'
import { paymentsArea } from './billing/payments/area.ts'
import { ratesArea } from './billing/rates/area.ts'
import { servicesArea } from './billing/services/area.ts'
import { reconciliationArea } from './billing/services/reconciliation/area.ts'
import { appsStoreArea } from './brand/apps-store/area.ts'
import { hostNameConflictsArea } from './brand/host-name-conflicts/area.ts'
import { notificationsArea } from './brand/notifications/area.ts'
import { whitelabelArea } from './brand/whitelabel/area.ts'
import { cdrsArea } from './calls/cdrs/area.ts'
import { alertsArea } from './events/alerts/area.ts'
import { auditArea } from './events/audit/area.ts'
import { eventsArea } from './events/events/area.ts'
import { messageBusArea } from './events/message-bus/area.ts'
import { webhooksArea } from './events/webhooks/area.ts'
import { websocketsArea } from './events/websockets/area.ts'
import { phoneNumbersArea } from './numbers/phone-numbers/area.ts'
import { aboutArea } from './system/about/area.ts'
import { configsArea } from './system/configs/area.ts'
import { importsArea } from './system/imports/area.ts'
import { schemasArea } from './system/schemas/area.ts'
import { searchArea } from './system/search/area.ts'
import { systemConfigsArea } from './system/system-configs/area.ts'
import { accessListsArea } from './voice/access-lists/area.ts'
import { callflowsArea } from './voice/callflows/area.ts'
import { channelsArea } from './voice/channels/area.ts'
import { connectivityArea } from './voice/connectivity/area.ts'
import { devicesArea } from './voice/devices/area.ts'
import { edgeArea } from './voice/edge/area.ts'
import { freeswitchArea } from './voice/freeswitch/area.ts'
import { groupsArea } from './voice/groups/area.ts'
import { provisioningArea } from './voice/provisioning/area.ts'
import { quickcallsArea } from './voice/quickcalls/area.ts'
import { rateLimitsArea } from './voice/rate-limits/area.ts'
import { registrationsArea } from './voice/registrations/area.ts'
import { resourcesArea } from './voice/resources/area.ts'
import { routingArea } from './voice/routing/area.ts'
import { switchArea } from './voice/switch/area.ts'
import { migrationsArea } from './work/migrations/area.ts'
import { tasksArea } from './work/tasks/area.ts'
import { workArea } from './work/work/area.ts'

/** All areas, one per line. Each comes after the areas that it needs. */
export const areas = [
  importsArea,
  aboutArea,
  accountsArea,
  servicesArea,
  systemConfigsArea,
  configsArea,
  resourcesArea,
  phoneNumbersArea,
  quotasArea,
  devicesArea,
  callflowsArea,
  groupsArea,
  accessListsArea,
  rateLimitsArea,
  quickcallsArea,
  connectivityArea,
  registrationsArea,
  channelsArea,
  usersArea,
  loginAttemptsArea,
  multiFactorArea,
  securityArea,
  apiKeysArea,
  whitelabelArea,
  signInArea,
  tokenRestrictionsArea,
  appsStoreArea,
  notificationsArea,
  searchArea,
  limitsArea,
  ledgersArea,
  paymentsArea,
  ratesArea,
  cdrsArea,
  routingArea,
  alertsArea,
  figuresArea,
  edgeArea,
  freeswitchArea,
  hostNameConflictsArea,
  provisioningArea,
  webhooksArea,
  messageBusArea,
  switchArea,
  workArea,
  auditArea,
  eventsArea,
  websocketsArea,
  // These collect from all above them.
  reconciliationArea,
  tasksArea,
  migrationsArea,
  schemasArea,
] as const

/** What the areas offer to the rest of the server, by name. */
export type Areas = OffersOf<typeof areas>
