import { aboutArea } from './about/area.ts'
import { accessListsArea } from './access-lists/area.ts'
import { accountsArea } from './accounts/area.ts'
import { alertsArea } from './alerts/area.ts'
import { apiKeysArea } from './api-keys/area.ts'
import { appsStoreArea } from './apps-store/area.ts'
import type { OffersOf } from './area.ts'
import { auditArea } from './audit/area.ts'
import { callflowsArea } from './callflows/area.ts'
import { cdrsArea } from './cdrs/area.ts'
import { channelsArea } from './channels/area.ts'
import { configsArea } from './configs/area.ts'
import { connectivityArea } from './connectivity/area.ts'
import { devicesArea } from './devices/area.ts'
import { edgeArea } from './edge/area.ts'
import { eventsArea } from './events/area.ts'
import { freeswitchArea } from './freeswitch/area.ts'
import { groupsArea } from './groups/area.ts'
import { hostNameConflictsArea } from './host-name-conflicts/area.ts'
import { importsArea } from './imports/area.ts'
import { ledgersArea } from './ledgers/area.ts'
import { limitsArea } from './limits/area.ts'
import { loginAttemptsArea } from './login-attempts/area.ts'
import { messageBusArea } from './message-bus/area.ts'
import { migrationsArea } from './migrations/area.ts'
import { multiFactorArea } from './multi-factor/area.ts'
import { notificationsArea } from './notifications/area.ts'
import { paymentsArea } from './payments/area.ts'
import { phoneNumbersArea } from './phone-numbers/area.ts'
import { provisioningArea } from './provisioning/area.ts'
import { quickcallsArea } from './quickcalls/area.ts'
import { quotasArea } from './quotas/area.ts'
import { rateLimitsArea } from './rate-limits/area.ts'
import { ratesArea } from './rates/area.ts'
import { registrationsArea } from './registrations/area.ts'
import { resourcesArea } from './resources/area.ts'
import { routingArea } from './routing/area.ts'
import { schemasArea } from './schemas/area.ts'
import { searchArea } from './search/area.ts'
import { securityArea } from './security/area.ts'
import { servicesArea } from './services/area.ts'
import { reconciliationArea } from './services/reconciliation/area.ts'
import { signInArea } from './sign-in/area.ts'
import { switchArea } from './switch/area.ts'
import { systemConfigsArea } from './system-configs/area.ts'
import { tasksArea } from './tasks/area.ts'
import { tokenRestrictionsArea } from './token-restrictions/area.ts'
import { usersArea } from './users/area.ts'
import { webhooksArea } from './webhooks/area.ts'
import { websocketsArea } from './websockets/area.ts'
import { whitelabelArea } from './whitelabel/area.ts'
import { workArea } from './work/area.ts'

/** Everything that the server can do, a line each. An area stands below those that it needs. */
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
