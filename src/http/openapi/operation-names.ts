import type { Route } from '../route.ts'

// Operations are grouped by the first word of their path after the account.

const partOf: Readonly<Record<string, string>> = {
  children: 'accounts',
  descendants: 'accounts',
  move: 'accounts',
  parents: 'accounts',
  reseller: 'accounts',
  siblings: 'accounts',
  tree: 'accounts',
  api_key: 'api_keys',
}

const afterAccount = /^\/v2\/accounts\/\{account_id\}\/([^/{]+)/

export const wordOf = (path: string) => afterAccount.exec(path)?.[1] ?? path.split('/')[2] ?? ''

export const tagOf = (path: string) => {
  const word = wordOf(path)
  return partOf[word] ?? word
}

// Names of operations, made from method and path.

type Named = Pick<Route, 'method' | 'path' | 'spec'>

/** Names that the rule would make badly. */
const reviewed: Readonly<Record<string, string>> = {
  'GET /v2/webhooks': 'listWebhookKinds',
  'PATCH /v2/accounts/{account_id}/webhooks': 'enableWebhooks',
  'PATCH /v2/accounts/{account_id}/descendants/webhooks': 'enableWebhooksBelow',
  'GET /v2/accounts/{account_id}/webhooks/attempts': 'listAccountWebhookAttempts',
  'POST /v2/accounts/{account_id}/webhooks/{webhook_id}/test': 'testWebhook',
  'POST /v2/accounts/{account_id}/webhooks/{webhook_id}/replay': 'replayWebhook',
  'PUT /v2/accounts': 'createOwnSubAccount',
  'PUT /v2/accounts/{account_id}': 'createSubAccount',
  'GET /v2/about': 'getAbout',
  'GET /v2/accounts/{account_id}/about': 'getAboutOfAccount',
  'POST /v2/accounts/{account_id}/move': 'moveAccount',
  'GET /v2/accounts/{account_id}/allotments/consumed': 'getConsumedAllotments',
  'PUT /v2/accounts/{account_id}/reseller': 'promoteToReseller',
  'DELETE /v2/accounts/{account_id}/reseller': 'demoteReseller',
  'PUT /v2/accounts/{account_id}/api_key': 'renewApiKey',
  'GET /v2/accounts/{account_id}/api_key': 'getAccountApiKey',
  'GET /v2/accounts/{account_id}/audit/{entry_id}': 'getAuditEntry',
  'GET /v2/accounts/{account_id}/ledgers/{source}/{entry_id}/audit': 'listLedgerEntryAudit',
  'GET /v2/accounts/{account_id}/services/audit/{audit_id}/audit': 'listAuditOfServiceAudit',
  'PUT /v2/accounts/{account_id}/auth': 'endAccountSessions',
  'PUT /v2/accounts/{account_id}/users/{user_id}/auth': 'endUserSessions',
  'PUT /v2/accounts/{account_id}/users/{user_id}/user_auth': 'impersonateUser',
  'PUT /v2/auth': 'renewTokenOrEndSessions',
  'PUT /v2/auth/keys/{key_id}': 'rotateAuthKey',
  'GET /v2/auth/tokeninfo': 'getTokenInfo',
  'POST /v2/auth/tokeninfo': 'inspectToken',
  'PUT /v2/api_auth': 'signInWithApiKey',
  'PUT /v2/user_auth': 'signIn',
  'PUT /v2/user_auth/recovery': 'requestRecovery',
  'POST /v2/user_auth/recovery': 'signInByRecovery',
  'GET /v2/token_auth': 'getOwnToken',
  'DELETE /v2/token_auth': 'signOut',
  'PUT /v2/multi_factor/passkeys': 'signInWithPasskey',
  'PUT /v2/multi_factor/passkeys/options': 'getSignInPasskeyOptions',
  'PUT /v2/accounts/{account_id}/users/{user_id}/passkeys/options': 'getUserPasskeyOptions',
  'PUT /v2/multi_factor/qrcode': 'enrolAuthenticator',
  'DELETE /v2/accounts/{account_id}/users/{user_id}/qrcode': 'forgetUserSecondFactor',
  'GET /v2/accounts/{account_id}/cdrs/legs/{interaction_id}': 'getCdrLegs',
  'GET /v2/accounts/{account_id}/cdrs/interaction': 'listInteractions',
  'GET /v2/accounts/{account_id}/users/{user_id}/cdrs/interaction': 'listUserInteractions',
  'PUT /v2/cdrs': 'storeCdrs',
  'GET /v2/accounts/{account_id}/configs': 'getDefaultConfig',
  'GET /v2/accounts/{account_id}/devices/status': 'listDeviceStatus',
  'PUT /v2/accounts/{account_id}/devices/{device_id}': 'notifyDevice',
  'PUT /v2/accounts/{account_id}/users/{user_id}/devices': 'createUserDevice',
  'GET /v2/accounts/{account_id}/devices/{device_id}/quickcall/{number}': 'quickcallFromDevice',
  'POST /v2/accounts/{account_id}/devices/{device_id}/quickcall/{number}': 'quickcallFromDeviceAndWait',
  'GET /v2/accounts/{account_id}/users/{user_id}/quickcall/{number}': 'quickcallFromUser',
  'POST /v2/accounts/{account_id}/users/{user_id}/quickcall/{number}': 'quickcallFromUserAndWait',
  'GET /v2/accounts/{account_id}/ledgers/available': 'listAvailableLedgers',
  'GET /v2/accounts/{account_id}/ledgers/summary/{month}': 'getLedgerMonth',
  'GET /v2/accounts/{account_id}/ledgers/{source}': 'listLedgerEntries',
  'GET /v2/accounts/{account_id}/ledgers/{source}/{entry_id}': 'getLedgerEntry',
  'GET /v2/accounts/{account_id}/ledgers': 'getLedgerSums',
  'PUT /v2/accounts/{account_id}/ledgers/credit': 'creditLedger',
  'PUT /v2/accounts/{account_id}/ledgers/debit': 'debitLedger',
  'GET /v2/accounts/{account_id}/limits/operator': 'getOperatorLimits',
  'POST /v2/accounts/{account_id}/limits/operator': 'replaceOperatorLimits',
  'PATCH /v2/accounts/{account_id}/limits/operator': 'updateOperatorLimits',
  'GET /v2/accounts/{account_id}/multi_factor/attempts': 'listSecondFactorAttempts',
  'GET /v2/accounts/{account_id}/multi_factor/attempts/{attempt_id}': 'getSecondFactorAttempt',
  'POST /v2/accounts/{account_id}/migrations/{migration_id}': 'performMigration',
  'DELETE /v2/accounts/{account_id}/notifications': 'deleteAllNotifications',
  'GET /v2/accounts/{account_id}/notifications/smtplog': 'listMailAttempts',
  'GET /v2/accounts/{account_id}/notifications/smtplog/{smtplog_id}': 'getMailAttempt',
  'GET /v2/notifications/smtplog': 'listSystemMailAttempts',
  'GET /v2/notifications/smtplog/{smtplog_id}': 'getSystemMailAttempt',
  'DELETE /v2/notifications': 'deleteAllSystemNotifications',
  'GET /v2/phone_numbers': 'searchPhoneNumbers',
  'GET /v2/accounts/{account_id}/phone_numbers/carriers_info': 'getCarriersInfo',
  'GET /v2/accounts/{account_id}/phone_numbers/classifiers/{number}': 'classifyPhoneNumber',
  'POST /v2/accounts/{account_id}/phone_numbers/locality': 'locatePhoneNumbers',
  'GET /v2/accounts/{account_id}/phone_numbers/prefix': 'listPhoneNumberPrefixes',
  'POST /v2/accounts/{account_id}/phone_numbers/fix': 'fixPhoneNumbers',
  'POST /v2/accounts/{account_id}/phone_numbers/fix/{phone_number}': 'fixPhoneNumber',
  'PUT /v2/accounts/{account_id}/phone_numbers/collection': 'createPhoneNumbers',
  'POST /v2/accounts/{account_id}/phone_numbers/collection': 'replacePhoneNumbers',
  'PATCH /v2/accounts/{account_id}/phone_numbers/collection': 'updatePhoneNumbers',
  'DELETE /v2/accounts/{account_id}/phone_numbers/collection': 'deletePhoneNumbers',
  'PUT /v2/accounts/{account_id}/phone_numbers/collection/activate': 'activatePhoneNumbers',
  'GET /v2/accounts/{account_id}/rates/number/{number}': 'rateNumber',
  'GET /v2/rates/number/{number}': 'rateNumberOfSystem',
  'GET /v2/rates/ratedecks': 'listRatedecks',
  'GET /v2/accounts/{account_id}/search': 'search',
  'GET /v2/accounts/{account_id}/search/multi': 'searchByFields',
  'GET /v2/search': 'searchOwn',
  'GET /v2/search/multi': 'searchOwnByFields',
  'GET /v2/accounts/{account_id}/security/login_lock': 'getLoginLock',
  'DELETE /v2/accounts/{account_id}/security/login_lock': 'unlockAccount',
  'GET /v2/security': 'listSecurityModules',
  'POST /v2/accounts/{account_id}/services': 'assignServices',
  'GET /v2/accounts/{account_id}/services/available': 'listAvailablePlans',
  'GET /v2/accounts/{account_id}/services/editable': 'getEditableServices',
  'GET /v2/services/editable': 'getEditableSystemServices',
  'GET /v2/accounts/{account_id}/services/audit/summary': 'getServiceAuditSummary',
  'GET /v2/accounts/{account_id}/services/audit/summary/{service_category}':
    'getServiceAuditSummaryOfCategory',
  'GET /v2/accounts/{account_id}/services/audit_summary': 'getServiceAuditSummaryByOldPath',
  'GET /v2/accounts/{account_id}/services/audit_summary/{service_category}':
    'getServiceAuditSummaryOfCategoryByOldPath',
  'POST /v2/accounts/{account_id}/services/quote': 'quoteServices',
  'POST /v2/accounts/{account_id}/services/reconciliation': 'reconcileServices',
  'POST /v2/accounts/{account_id}/services/synchronization': 'synchronizeServices',
  'POST /v2/accounts/{account_id}/services/topup': 'topUp',
  'POST /v2/accounts/{account_id}/services/{plan_id}': 'assignPlan',
  'DELETE /v2/accounts/{account_id}/services/{plan_id}': 'unassignPlan',
  'PUT /v2/accounts/{account_id}/services/payment_tokens/setup': 'setUpPaymentToken',
  'POST /v2/accounts/{account_id}/services/payment_tokens/{token_id}': 'choosePaymentToken',
  'GET /v2/accounts/{account_id}/transactions/current_balance': 'getCurrentBalance',
  'GET /v2/accounts/{account_id}/transactions/monthly_recurring': 'listMonthlyBills',
  'GET /v2/accounts/{account_id}/transactions/subscriptions': 'listSubscriptions',
  'PUT /v2/accounts/{account_id}/transactions/sale': 'createSale',
  'PUT /v2/accounts/{account_id}/transactions/refund': 'createRefund',
  'PUT /v2/schemas/{schema_name}/validation': 'validateAgainstSchema',
  'GET /v2/tasks': 'describeTasks',
  'PATCH /v2/accounts/{account_id}/tasks/{task_id}': 'startTask',
  'PATCH /v2/tasks/{task_id}': 'startOwnTask',
  'POST /v2/whitelabel/domains': 'replaceWhitelabelDomainTemplate',
  'GET /v2/whitelabel/domains': 'getWhitelabelDomainsOf',
  'POST /v2/accounts/{account_id}/whitelabel/domains': 'checkWhitelabelDomains',
  'GET /v2/work': 'listJobs',
  'GET /v2/work/{kind}/{id}': 'getJob',
  'POST /v2/work/{kind}/{id}/retry': 'retryJob',
}

/** Irregular singulars; single resources keep their word. */
const singulars: Readonly<Record<string, string>> = {
  access_lists: 'access_list',
  multi_factor: 'second_factor_provider',
  services: 'service',
  stats: 'stats',
  status: 'status',
}

const unique = new Set(['access_lists'])

/** Paths that continue with parts of the resource, not with items. */
const hasNoItems = new Set(['services', 'ledgers', 'whitelabel'])

/** Verbs at the end of a path. */
const deeds = new Set([
  ...['activate', 'check', 'continue', 'move', 'pay', 'port', 'preview', 'reserve', 'retry', 'stop', 'sync'],
  ...['verify', 'void', 'identify'],
])

/** Prefixes of resources without an account in the path. */
const owners: Readonly<Record<string, string>> = {
  tasks: 'own_',
  whitelabel: 'host_',
  system_configs: '',
}

const plurals: Readonly<Record<string, string>> = { multi_factor: 'second_factor_providers' }

const verbs = { GET: 'get', PUT: 'create', POST: 'replace', PATCH: 'update', DELETE: 'delete' } as const

const isVariable = (segment: string | undefined) => segment?.startsWith('{') === true

const pascal = (words: string) =>
  words
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

const singular = (word: string) => singulars[word] ?? word.replace(/ies$/, 'y').replace(/(?<!s)s$/, '')

const onAccount = '/v2/accounts/{account_id}'

export const operationNames = (
  routes: readonly Named[],
  chosen: Readonly<Record<string, string>> = reviewed,
): ReadonlyMap<string, string> => {
  const paths = new Set(routes.map(({ path }) => path))
  const holdsItems = (path: string) =>
    [...paths].some(
      (other) => other.startsWith(`${path}/{`) && other.split('/').length === path.split('/').length + 1,
    )

  const scopeOf = ({ path }: Named) => {
    if (path.startsWith(`${onAccount}/`)) return path.includes('/system_configs') ? 'account_' : ''
    const owner = owners[path.split('/')[2] ?? '']
    if (owner !== undefined) return owner
    return paths.has(`${onAccount}${path.slice('/v2'.length)}`) ? 'system_' : ''
  }

  /** Containers in the singular; the last word in the plural if it means many. */
  const nounOf = (segments: readonly string[], isOne: boolean) =>
    segments
      .flatMap((segment, at) => {
        if (isVariable(segment)) return isVariable(segments[at - 1]) ? [segment.slice(1, -1)] : []
        const isLast = segments.slice(at + 1).every(isVariable)
        return [isLast && !isOne && !unique.has(segment) ? (plurals[segment] ?? segment) : singular(segment)]
      })
      .join('_')

  const byRule = (route: Named) => {
    const { method, path, spec } = route
    const whole = path.startsWith(`${onAccount}/`) ? path.slice(onAccount.length) : path.slice('/v2'.length)
    const segments = whole.split('/').slice(1)
    const last = segments.at(-1) ?? ''
    const scope = scopeOf(route)
    if (deeds.has(last)) {
      const before = segments.slice(0, -1)
      return `${last}${pascal(scope + nounOf(before, isVariable(before.at(-1))))}`
    }
    const isItem = isVariable(last)
    const isCollection = !isItem && (spec.list !== undefined || (holdsItems(path) && !hasNoItems.has(last)))
    const verb = method === 'GET' && isCollection ? 'list' : verbs[method]
    return `${verb}${pascal(scope + nounOf(segments, isItem || (isCollection && method === 'PUT')))}`
  }

  return new Map(
    routes.map((route) => {
      const key = `${route.method} ${route.path}`
      return [key, chosen[key] ?? byRule(route)]
    }),
  )
}

export const reviewedNames = Object.keys(reviewed)
