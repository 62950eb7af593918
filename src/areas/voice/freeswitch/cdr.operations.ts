// Call records as mod_json_cdr of FreeSWITCH posts them, one leg a request: as plain JSON, or in a form with the field `cdr`,
// which is the JSON percent-encoded or in base64. The values of `variables` may also be percent-encoded (`encode-values`).
import { hash, timingSafeEqual } from 'node:crypto'
import { type AccountRecord, accountKind } from '../../../auth/identity.ts'
import { isBase64 } from '../../../lib/base64.ts'
import { createBatcher } from '../../../lib/gathering.ts'
import { isId, randomKey } from '../../../lib/ids.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { dropNulls } from '../../../lib/json-merge.ts'
import { parseWithRawQuotes } from '../../../lib/lenient-json.ts'
import { elementAt } from '../../../lib/list.ts'
import { loosePercentDecoded, looseUtf8Text } from '../../../lib/utf8.ts'
import { type SettingsDoc, settingsKind } from '../../../settings/settings.ts'
import { type Author, ChangeSet, conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Intake, LegVerdict } from '../../calls/cdrs/intake/operations.ts'
import type { Leg } from '../../calls/cdrs/intake/rules.ts'
import { callRecordSettings } from '../../calls/cdrs/settings.ts'
import { type AccountHint, isUnwanted, lacksEnd, type SwitchLeg, switchLegOf } from './cdr.rules.ts'
import { ingestSettings } from './settings.ts'

export class UnreadableBody extends Error {}

/** Some versions announce one encoding and send the other, so the content decides. */
const fieldText = (value: string): string => {
  // A base64 text may have been percent-encoded as a form field, too.
  const decoded = loosePercentDecoded(value)
  if (decoded.trimStart().startsWith('{')) return decoded
  const base64 = decoded.replaceAll('\0', '')
  if (base64 !== '' && isBase64(base64)) return looseUtf8Text(Buffer.from(base64, 'base64'))
  throw new UnreadableBody('the field cdr is neither percent-encoded JSON nor base64')
}

const documentIn = (bytes: Buffer): string => {
  const text = looseUtf8Text(bytes).trim()
  if (text.startsWith('{')) return text
  const field = text.split('&').find((part) => part.startsWith('cdr='))
  if (field === undefined) throw new UnreadableBody('the body is neither JSON nor a form with the field cdr')
  return fieldText(field.slice('cdr='.length))
}

// Characters that FreeSWITCH always encodes. Every leg has times such as `2026-02-07 09:15:02`, so variables
// without any of these characters were encoded.
const unsafe = /[\r\n "#&+:;<=>?@[\\\]^`{|}]/
const escaped = /%[0-9A-Fa-f]{2}/

const isEncoded = (values: readonly unknown[]) => {
  const texts = values.filter((value) => typeof value === 'string')
  return texts.some((text) => escaped.test(text)) && !texts.some((text) => unsafe.test(text))
}

const decodedVariables = (variables: Json): Json => {
  if (!isEncoded(Object.values(variables))) return variables
  const decoded = (value: unknown) => (typeof value === 'string' ? loosePercentDecoded(value) : value)
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, decoded(value)]))
}

const parsed = (text: string) => {
  try {
    return parseWithRawQuotes(text)
  } catch {
    throw new UnreadableBody('the body is not valid JSON')
  }
}

/** `isRepaired`: the text was not valid JSON or UTF-8. */
export const readPostedLeg = (bytes: Buffer): { leg: Json; isRepaired: boolean } => {
  const text = documentIn(bytes)
  const { value, isRepaired } = parsed(text)
  if (!isObject(value) || !isObject(value.variables))
    throw new UnreadableBody('there are no variables in the body')
  const leg = { ...value, variables: decodedVariables(value.variables) }
  return { leg, isRepaired: isRepaired || !text.isWellFormed() }
}

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'log'> {
  accounts: Accounts
  intake: Intake
  count(verdict: LegVerdict): void
}

/** `reason`: why a leg was ignored. */
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
  const documents = createCollection<SettingsDoc, Json>(store, { kind: settingsKind })

  // Hundreds of legs end in the same second, each in its own request: they share transactions.
  const write = createBatcher(
    legsPerBatch,
    (arrivals: readonly { author: Author; leg: Leg }[]): Promise<LegVerdict[]> =>
      intake.write(
        elementAt(arrivals, 0).author,
        arrivals.map(({ leg }) => leg),
      ),
    ({ leg }) => leg.accountId,
  )

  const accountOf = async (hints: readonly AccountHint[]): Promise<AccountRecord | undefined> => {
    for (const hint of hints) {
      const { realm, accountId: id } = hint
      const account =
        realm === undefined
          ? isId(id) && (await store.records.find(id, accountKind, id))
          : await accounts.byRealm(realm)
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

  const takeLeg = async (author: Author, bytes: Buffer): Promise<SwitchVerdict> => {
    const { leg: posted, isRepaired } = readPostedLeg(bytes)
    const leg = switchLegOf(posted)
    const reason = await ignoredBecause(leg)
    if (reason !== undefined) return { verdict: 'ignored', reason }
    const account = await accountOf(leg.accountHints)
    if (!account) {
      // Strangers who try numbers at a switch leave thousands of such legs.
      log.write('info', 'a leg of an unknown account was not stored', { call_id: leg.callId })
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
      const taken = await takeLeg(author, bytes).catch((error) => {
        if (error instanceof UnreadableBody) return { verdict: { rejected: error.message } }
        throw error
      })
      count(taken.verdict)
      return taken
    },

    /** Creates the secret if the store has none. */
    async prepare(author: Author) {
      if (await documents.find(systemScope, 'ingest')) return
      const set = new ChangeSet(author)
      const doc = { default: { freeswitch_secret: randomKey(24).toString('base64url') } }
      documents.insert(set, documents.draft(systemScope, { doc, hidden: {} }, 'ingest'))
      // Another process of the same store may create one at the same time: its secret counts.
      await store.commit(set).catch((error) => {
        if (error?.kind !== conflict().kind) throw error
      })
    },
  }
}
