import { hash, timingSafeEqual } from 'node:crypto'
import { type AccountRecord, accountKind } from '../../../../auth/identity.ts'
import { createBatcher } from '../../../../lib/gathering.ts'
import { isId, randomKey } from '../../../../lib/ids.ts'
import type { Json } from '../../../../lib/json.ts'
import { dropNulls } from '../../../../lib/json-merge.ts'
import { elementAt } from '../../../../lib/list.ts'
import type { Log } from '../../../../lib/log.ts'
import { type Settings, type SettingsDoc, settingsKind } from '../../../../settings/settings.ts'
import { type Author, ChangeSet, conflict, systemScope } from '../../../../storage/change-set.ts'
import { createCollection } from '../../../../storage/collection.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Accounts } from '../../../accounts/accounts/operations.ts'
import type { Intake, LegVerdict } from '../intake/operations.ts'
import type { Leg } from '../intake/rules.ts'
import { callRecordSettings, ingestSettings } from '../settings.ts'
import { type PostedLeg, readPostedLeg, UnreadableBody } from './body.ts'
import { type AccountHint, isUnwanted, lacksEnd, type SwitchLeg, switchLegOf } from './rules.ts'

interface Deps {
  store: Store
  settings: Settings
  accounts: Accounts
  intake: Intake
  log: Log
  count(verdict: LegVerdict): void
}

interface Arrival {
  author: Author
  leg: Leg
}

/** The result for a posted leg. `reason`: why a leg was ignored. */
interface SwitchVerdict {
  verdict: LegVerdict
  reason?: string
}

const noAccount = 'no account ID, account code, domain or address of the leg belongs to an account'
const noEnd = 'timestamp: the leg has no end: end_epoch, hangup_time or duration is needed'
const bowedOut = 'the settings of cdr ignore this application or loopback leg'

const legsPerBatch = 200

const digest = (text: string) => hash('sha256', text, 'buffer')

export type FreeswitchIntake = ReturnType<typeof createFreeswitchIntake>

export const createFreeswitchIntake = ({ store, settings, accounts, intake, log, count }: Deps) => {
  const documents = createCollection<SettingsDoc, Json>(store, {
    kind: settingsKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

  const writeTogether = async (arrivals: readonly Arrival[]): Promise<LegVerdict[]> =>
    intake.write(
      elementAt(arrivals, 0).author,
      arrivals.map(({ leg }) => leg),
    )

  const write = createBatcher(legsPerBatch, writeTogether, ({ leg }) => leg.accountId)

  const accountFor = async (hint: AccountHint): Promise<AccountRecord | undefined> => {
    if ('realm' in hint) return accounts.byRealm(hint.realm)
    const id = hint.accountId
    return isId(id) ? await store.records.find(id, accountKind, id) : undefined
  }

  const accountOf = async (hints: readonly AccountHint[]) => {
    for (const hint of hints) {
      const account = await accountFor(hint)
      if (account) return account
    }
    return undefined
  }

  const ignoredBecause = async (leg: SwitchLeg) => {
    if (isUnwanted(leg)) return 'hangup_cause: WRONG_CALL_STATE'
    const { ignore_apps: ignored } = await settings.of(callRecordSettings)
    const app = leg.apps.find((name) => ignored.includes(name))
    return app && `app_log: the setting ignore_apps contains ${app}`
  }

  const takeLeg = async (author: Author, { leg: posted, isRepaired }: PostedLeg): Promise<SwitchVerdict> => {
    const leg = switchLegOf(posted)
    const reason = await ignoredBecause(leg)
    if (reason !== undefined) return { verdict: 'ignored', reason }
    const account = await accountOf(leg.accountHints)
    if (!account) {
      // Strangers who try numbers at a switch leave thousands of such legs.
      log.write('info', 'a leg of no known account was not stored', { call_id: leg.callId })
      return { verdict: 'ignored', reason: noAccount }
    }
    if (lacksEnd(leg)) return { verdict: { rejected: noEnd } }
    const vars = { ...(leg.record.custom_channel_vars as Json), account_id: account.id }
    const record = dropNulls({ ...leg.record, custom_channel_vars: vars })
    const judged = await intake.judge({ record, isRepaired }, 'freeswitch')
    if (judged === 'ignored') return { verdict: judged, reason: bowedOut }
    if (typeof judged === 'string' || 'rejected' in judged) return { verdict: judged }
    return { verdict: await write({ author, leg: leg.joins ? { ...judged, joins: leg.joins } : judged }) }
  }

  return {
    async isSecret(text: string) {
      const { freeswitch_secret: secret } = await settings.of(ingestSettings)
      return secret !== undefined && timingSafeEqual(digest(text), digest(secret))
    },

    async take(author: Author, bytes: Buffer): Promise<SwitchVerdict> {
      try {
        const taken = await takeLeg(author, readPostedLeg(bytes))
        count(taken.verdict)
        return taken
      } catch (error) {
        if (!(error instanceof UnreadableBody)) throw error
        const verdict = { rejected: error.message }
        count(verdict)
        return { verdict }
      }
    },

    /** Creates the secret if the store has none. */
    async prepare(author: Author) {
      const known = await documents.find(systemScope, 'ingest')
      if (known) return
      const set = new ChangeSet(author)
      const freeswitch_secret = randomKey(24).toString('base64url')
      documents.insert(
        set,
        documents.draft(systemScope, { doc: { default: { freeswitch_secret } }, hidden: {} }, 'ingest'),
      )
      // Another process of the same store may create one at the same time: its secret counts.
      await store.commit(set).catch((error) => {
        if (error?.kind !== conflict().kind) throw error
      })
    },
  }
}
