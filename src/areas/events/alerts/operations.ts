import {
  type AccountRecord,
  type Actor,
  isSuperduper,
  privLevelOf,
  userKind,
} from '../../../auth/identity.ts'
import type { ScheduledJob } from '../../../jobs/scheduler.ts'
import { badIdentifier, failure, forbidden } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import type { Warning } from '../../../settings/unknown-keys.ts'
import { createAttachment } from '../../../storage/attachment.ts'
import { type Author, ChangeSet, type ClaimHolder, systemScope } from '../../../storage/change-set.ts'
import { committed } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import type { GeneratedAlerts } from './generated.ts'
import { alertNotice } from './notices.ts'
import {
  accountsIn,
  alertsDisabled,
  isExpired,
  isOnlyFor,
  keyFor,
  keysFor,
  keysOf,
  keyText,
  type Reader,
  rowOf,
} from './rules.ts'
import { Alert, type AlertRow } from './schema.ts'
import { alertCheckSettings, alertSettings } from './settings.ts'
import { type AlertStored, causeClaim, createAlertStore } from './store.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'mail'> {
  accounts: Pick<Accounts, 'find'>
  generated: GeneratedAlerts
}

const perRound = 100

/** A caller of a parent account sees what the admins of the account see. */
const readerOf = (actor: Actor, account: AccountRecord): Reader => ({
  accountId: account.id,
  above: account.hidden.tree,
  isReseller: account.hidden.isReseller,
  isAdmin: privLevelOf(actor) === 'admin',
  userId: actor.user?.id,
})

/** A user hides an alert for itself, an API key for its account. */
const hiderOf = ({ accountId, user }: Actor): ClaimHolder =>
  user ? { accountId, kind: userKind, id: user.id } : { accountId, kind: 'account', id: accountId }

const keysOfReader = (actor: Actor, account: AccountRecord) =>
  new Set(keysFor(readerOf(actor, account)).map(keyText))

const mayRemove = (actor: Actor, account: AccountRecord, alert: AlertStored) =>
  isSuperduper(actor) || (privLevelOf(actor) === 'admin' && isOnlyFor(alert.doc, account.id))

interface Core extends Deps {
  alerts: ReturnType<typeof createAlertStore>
  now(): number
  isEnabled(): Promise<boolean>
}

/** What single readers see. */
const createReading = ({ store, settings, alerts, generated, now, isEnabled }: Core) => {
  const hidden = createAttachment<{ alerts: readonly string[] }>(store, 'hidden_alerts')

  const hiddenBy = async (actor: Actor) => (await hidden.find(hiderOf(actor)))?.doc.alerts ?? []

  const stored = async (actor: Actor, account: AccountRecord): Promise<AlertRow[]> => {
    const keys = keysOfReader(actor, account)
    const gone = new Set(await hiddenBy(actor))
    const found = await alerts.under([...keys])
    return found
      .filter(({ id, doc }) => !gone.has(id) && !isExpired(doc, now()))
      .toSorted((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
      .flatMap(({ id, doc, created }) => {
        const key = keyFor(doc, keys)
        return key ? [rowOf(id, doc, { key, clearable: true, created })] : []
      })
  }

  const visible = async (actor: Actor, account: AccountRecord, id: string) => {
    const alert = await alerts.find(systemScope, id)
    if (!alert || isExpired(alert.doc, now())) return undefined
    if (isSuperduper(actor)) return alert
    const isFor = keyFor(alert.doc, keysOfReader(actor, account))
    return isFor && !(await hiddenBy(actor)).includes(id) ? alert : undefined
  }

  const hide = async (set: ChangeSet, actor: Actor, alert: AlertStored) => {
    const owner = hiderOf(actor)
    const before = await hidden.find(owner)
    const known = await Promise.all(
      (before?.doc.alerts ?? []).map(async (id) => ((await alerts.find(systemScope, id)) ? [id] : [])),
    )
    hidden.put(set, owner, before, { alerts: [...known.flat(), alert.id] })
  }

  /** The alerts that follow from the state of an account. */
  const derived = async (account: AccountRecord) => ((await isEnabled()) ? generated.of(account) : [])

  return {
    removeWith: hidden.removeWith,

    derived,

    async list(actor: Actor, account: AccountRecord): Promise<AlertRow[]> {
      const { check_system_alerts: checksStored } = await settings.of(alertCheckSettings)
      const made = await derived(account)
      return checksStored ? [...made, ...(await stored(actor, account))] : made
    },

    async get(actor: Actor, account: AccountRecord, id: string): Promise<AlertStored> {
      const alert = await visible(actor, account, id)
      if (!alert) throw failure(badIdentifier, { cause: id })
      return alert
    },

    /** Removes an alert for all who see it, or hides it from the caller. Generated alerts end with their cause. */
    async clear(author: Author, actor: Actor, account: AccountRecord, id: string): Promise<AlertStored> {
      const alert = await visible(actor, account, id)
      if (!alert) {
        const isGenerated = (await generated.of(account)).some((row) => row.id === id)
        if (!isGenerated) throw failure(badIdentifier, { cause: id })
        const message = 'this alert cannot be cleared: it ends with its cause'
        throw failure(forbidden, { message, cause: id })
      }
      await committed(store, author, (set) =>
        mayRemove(actor, account, alert) ? alerts.remove(set, alert) : hide(set, actor, alert),
      )
      return alert
    },
  }
}

/** New alerts: those of users, and those that the server raises. */
const createRaising = ({ store, accounts, mail, alerts, isEnabled }: Core) => {
  /** Admins of named accounts also get an email. */
  const notifyAdmins = async (set: ChangeSet, { title, message, category = '', to }: Alert) => {
    const named = to.flatMap(keysOf).filter(([, audience]) => audience === 'admins')
    for (const id of new Set(named.map(([type]) => type))) {
      const account = await accounts.find(id)
      if (!account) continue
      const text = typeof message === 'string' ? message : JSON.stringify(message)
      const values = { 'alert.title': title, 'alert.message': text, 'alert.category': category }
      await mail.notify(set, { notice: alertNotice, account, to: [], values })
    }
  }

  /** For an alert to all accounts, the operator's subscribers get the event. */
  const put = async (set: ChangeSet, alert: AlertStored) => {
    alerts.insert(set, alert)
    const { id, doc, docText: after } = alert
    const named = await Promise.all([...new Set(doc.to.flatMap(accountsIn))].map(accounts.find))
    const ids = named.flatMap((account) => (account ? [account.id] : []))
    for (const accountId of ids.length > 0 ? ids : [systemScope])
      set.happened({ accountId, type: 'alert.raised', kind: 'alert', id, after })
  }

  /** Adds an alert that the server raises, unless there is one with the same cause. */
  const show = async (set: ChangeSet, cause: string, doc: Alert): Promise<boolean> => {
    if (!(await isEnabled()) || (await alerts.holder(causeClaim(cause)))) return false
    await put(set, alerts.draft(systemScope, { doc, hidden: { cause } }))
    return true
  }

  return {
    show,

    async raise(set: ChangeSet, cause: string, doc: Alert) {
      if (await show(set, cause, doc)) await notifyAdmins(set, doc)
    },

    /** When the server raised the alert of a cause, in Gregorian seconds. Undefined: there is none. */
    async raisedAt(cause: string) {
      return (await alerts.holder(causeClaim(cause)))?.created
    },

    async withdraw(set: ChangeSet, cause: string) {
      const alert = await alerts.holder(causeClaim(cause))
      if (alert) alerts.remove(set, alert)
    },

    async create(author: Author, doc: Alert): Promise<AlertStored> {
      const alert = alerts.draft(systemScope, { doc, hidden: {} })
      await committed(store, author, async (set) => {
        await put(set, alert)
        await notifyAdmins(set, doc)
      })
      return alert
    },

    /** Users without an account are looked up in this one. */
    async recipientWarnings(account: AccountRecord, to: Alert['to']): Promise<Warning[]> {
      const isUser = async (accountId: string, id: string) =>
        (await store.records.find(accountId, userKind, id)) !== undefined
      const isAccount = async (id: string) => (await accounts.find(id)) !== undefined
      const isKnownRecipient = async ([type, value]: ReturnType<typeof keysOf>[number]) => {
        if (type === 'all' || type === 'resellers') return true
        if (type === 'user') return isUser(account.id, String(value))
        if (type === 'descendants') return isAccount(value[0] ?? '')
        const isGroup = value === 'users' || value === 'admins'
        return (await isAccount(type)) && (isGroup || isUser(type, String(value)))
      }
      const found = await Promise.all(to.map((one) => Promise.all(keysOf(one).map(isKnownRecipient))))
      const message = 'No account and no user of this account has this id'
      return found.flatMap((known, index) => (known.includes(true) ? [] : [{ path: `to.${index}`, message }]))
    },
  }
}

/** Deletes alerts that have ended. */
const expiryOf = ({ store, alerts, now }: Core): ScheduledJob => {
  const removeEnded = async () => {
    const first = await alerts.firstToEnd(perRound)
    const ended = first.filter(({ doc }) => isExpired(doc, now()))
    const set = new ChangeSet({ requestId: 'alerts' })
    for (const alert of ended) alerts.remove(set, alert)
    if (ended.length > 0) await store.commit(set)
    return ended.length === perRound
  }

  return {
    name: 'alerts',
    everySeconds: 60,
    due: async () => (await alerts.firstToEnd(1)).some(({ doc }) => isExpired(doc, now())),
    async run(signal) {
      while ((await removeEnded()) && !signal.aborted);
    },
  }
}

export type Alerts = ReturnType<typeof createAlerts>

export const createAlerts = (deps: Deps) => {
  const { store, settings } = deps
  const alerts = createAlertStore(store)
  const now = () => gregorianNow(store.clock)
  const isEnabled = async () => (await settings.of(alertSettings)).enabled
  const core = { ...deps, alerts, now, isEnabled }

  return {
    ...createReading(core),
    ...createRaising(core),
    expiry: expiryOf(core),

    isPast: (time: number | undefined) => isExpired({ expiration_date: time }, now()),

    async assertEnabled() {
      if (!(await isEnabled())) throw failure(alertsDisabled, {})
    },

    /** Imported alerts send no email. */
    adoption: {
      schema: Alert,
      ...importingInto(alerts, ({ doc }) => ({
        doc: { title: '', message: '', from: [], to: [], ...doc },
        hidden: {},
      })),
    } satisfies Importer,
  }
}
