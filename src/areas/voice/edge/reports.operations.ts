import type { Refusal } from '../../../events/refusals.ts'
import { parseAddress } from '../../../lib/cidr.ts'
import { withoutControlCharacters } from '../../../lib/control-characters.ts'
import { hasProblems } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { dropNulls } from '../../../lib/json-merge.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying } from '../../../storage/store.ts'
import { rejectionReason } from '../../calls/cdrs/intake/rules.ts'
import type { IntakeReport } from '../../calls/cdrs/schema.ts'
import type { Edge, EdgeDeps } from './operations.ts'
import {
  type Alike,
  type Concern,
  emergencyAlerts,
  gathered,
  partedRecord,
  placeOfRecord,
  withQuality,
} from './reports.rules.ts'
import { EdgeEmergency, EdgeRefusal, type EdgeReportsTaken } from './schema.ts'
import { createEmergencyClaims } from './store.ts'

/** The request of an edge, not validated. */
type ReportBatch = Record<'records' | 'refusals' | 'emergencies', readonly unknown[]>

type Rejected = EdgeReportsTaken['refusals']['rejected']

/** The record that an event is about. */
const recordOf = (accountId: string, deviceId: string | undefined) =>
  deviceId === undefined ? { kind: 'account', id: accountId } : { kind: 'device', id: deviceId }

const refusalOf = ({ accountId, deviceId, likeness, report }: Alike): Refusal => {
  const record = { ...recordOf(accountId, deviceId), after: JSON.stringify(report) }
  return { happening: { accountId, type: 'sip.refused', ...record }, about: likeness }
}

export type EdgeReporting = ReturnType<typeof createEdgeReporting>

export const createEdgeReporting = (deps: EdgeDeps, edge: Edge) => {
  const { store, accounts, alerts, intake, legs, running, refusals, validate } = deps
  const emergencies = createEmergencyClaims(store)

  const concernOf = async (refusal: EdgeRefusal): Promise<Concern | undefined> => {
    const { realm, username, address = '' } = refusal
    const claim = { realm, username: username || undefined, address: parseAddress(address) }
    const sender = await edge.senderOf(claim)
    return sender && { refusal, accountId: sender.account.id, deviceId: sender.device?.id }
  }

  const takeRefusals = async (author: Author, sent: readonly unknown[]) => {
    const concerns: Concern[] = []
    const rejected: Rejected = []
    let unknown = 0
    for (const [index, given] of sent.entries()) {
      const { value, problems } = await validate(EdgeRefusal, dropNulls(given))
      if (hasProblems(problems)) {
        rejected.push({ line: index + 1, reason: rejectionReason(problems) })
        continue
      }
      const concern = await concernOf(value)
      if (concern) concerns.push(concern)
      else unknown += 1
    }
    const told = await refusals.note(author, gathered(concerns).map(refusalOf))
    return { told, repeated: concerns.length - told, unknown, rejected }
  }

  /** False: unknown account. */
  const reportEmergency = async (author: Author, call: EdgeEmergency) => {
    const account = await accounts.find(call.account_id)
    if (!account) return false
    if (await emergencies.isKnown(call)) return true
    const { account_id: accountId, device_id: deviceId, ...facts } = call
    const resellerId = await accounts.resellerOf(account)
    const now = gregorianNow(store.clock)
    const set = new ChangeSet(author)
    emergencies.claim(set, call, now)
    const after = JSON.stringify(facts)
    set.happened({ accountId, type: 'call.emergency', ...recordOf(accountId, deviceId), after })
    for (const { cause, alert } of emergencyAlerts(call, { name: account.doc.name, resellerId, now }))
      await alerts.raise(set, cause, alert)
    await store.commit(set)
    return true
  }

  const takeEmergencies = async (author: Author, sent: readonly unknown[]) => {
    const rejected: Rejected = []
    let told = 0
    for (const [index, given] of sent.entries()) {
      const { value, problems } = await validate(EdgeEmergency, withoutControlCharacters(dropNulls(given)))
      if (hasProblems(problems)) rejected.push({ line: index + 1, reason: rejectionReason(problems) })
      else if (await retrying(() => reportEmergency(author, value))) told += 1
      else rejected.push({ line: index + 1, reason: 'account_id: unknown account' })
    }
    return { told, rejected }
  }

  /** Renames records whose ID is used by another call: phones choose Call-IDs and may reuse them. */
  const ofOtherCalls = async (records: readonly unknown[]) => {
    const renamed: unknown[] = []
    for (const record of records) {
      const place = placeOfRecord(record)
      const stored = place && (await legs.find(place.accountId, place.id))
      if (stored && !place.isOf(stored)) renamed.push(place.renamed)
    }
    return renamed
  }

  const takeEntries = (author: Author, records: readonly unknown[]) => {
    const lines = records.map((record, index) => ({ line: index + 1, record: withQuality(record) }))
    return intake.take(
      author,
      (async function* () {
        yield lines
      })(),
    )
  }

  const takeRecords = async (author: Author, records: readonly unknown[]): Promise<IntakeReport> => {
    const taken = await takeEntries(author, records)
    const others = taken.duplicates > 0 ? await ofOtherCalls(records) : []
    if (others.length === 0) return taken
    const { accepted } = await takeEntries(author, others)
    return { ...taken, accepted: taken.accepted + accepted, duplicates: taken.duplicates - accepted }
  }

  return {
    /**
     * Takes everything. An edge that got no answer may repeat the request: records, emergency calls and alerts
     * are not doubled. A refusal is reported again if this process does not remember it: after a minute, or
     * from another process.
     */
    async take(
      author: Author,
      { records, refusals: turnedAway, emergencies: emergencyCalls }: ReportBatch,
    ): Promise<EdgeReportsTaken> {
      const parted = records.map((record) => partedRecord(dropNulls(record)))
      const taken = await takeRecords(
        author,
        parted.map(({ record }) => record),
      )
      // After the calls are charged: until then their credit stays reserved.
      await running.end(parted.flatMap(({ reservations }) => reservations))
      return {
        records: taken,
        refusals: await takeRefusals(author, turnedAway),
        ...(emergencyCalls.length > 0 ? { emergencies: await takeEmergencies(author, emergencyCalls) } : {}),
      }
    },
  }
}
