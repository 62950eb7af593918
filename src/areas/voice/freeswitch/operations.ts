import { type Actor, userKind } from '../../../auth/identity.ts'
import { type Address, parseAddress } from '../../../lib/cidr.ts'
import { present } from '../../../lib/json.ts'
import type { Records } from '../../../storage/records.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { CarrierDecisions, Edge, Sender } from '../edge/operations.ts'
import type { EdgeAnswer } from '../edge/schema.ts'
import { holderOf, internalId } from '../routing/callers.rules.ts'
import type { Routing } from '../routing/operations.ts'
import { actionsFor, callDocument, type DialplanAction, refusalActions } from './dialplan.rules.ts'
import { notFound, ownContext, userDocument } from './directory.rules.ts'
import type { SwitchQuestion } from './schema.ts'

interface Deps {
  records: Records
  accounts: Accounts
  edge: Pick<Edge, 'decide' | 'senderOf'>
  routing: Routing
  carriers: CarrierDecisions
}

/** FreeSWITCH may have its own extensions in other contexts. */
const contexts: ReadonlySet<string> = new Set([ownContext, 'public'])

const maxNumberLength = 64

const portIn = (text: string | undefined) => {
  const port = Number(text)
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
}

/** Routes report disabled senders themselves, because emergency calls pass. */
const isKeptOut = ({ allowed, reason = '' }: EdgeAnswer) =>
  allowed === false && (reason === 'trunk_disabled' || !reason.endsWith('_disabled'))

/** The user name with which the caller has authenticated. */
const signedInAs = (question: SwitchQuestion) =>
  question.variable_sip_authorized === 'true' ? question.variable_user_name || undefined : undefined

const forbidden = refusalActions(403, 'Forbidden')

export type SwitchDocuments = ReturnType<typeof createSwitchDocuments>

/** Answers for mod_xml_curl of FreeSWITCH, with the same checks as for other edges. */
export const createSwitchDocuments = ({ records, accounts, edge, routing, carriers }: Deps) => {
  const callerIdOf = async ({ account: { id, doc }, device }: Sender) => {
    const holder = device && holderOf(device)
    const user = holder === undefined ? undefined : await records.find(id, userKind, holder)
    const account = { id, doc, isDisabled: false, isTold: true }
    const party = { account, ...present({ device, user }) }
    return { ownerId: user?.id, callerId: internalId(party, undefined) }
  }

  const directory = async (actor: Actor, question: SwitchQuestion): Promise<string> => {
    const { action, user: username, domain: realm, ip, sip_user_agent: userAgent } = question
    if (!username || !realm) return notFound
    const signsIn = action === 'sip_auth'
    const address = ip ? parseAddress(ip) : undefined
    if (signsIn && !address) return notFound
    const asked = {
      realm,
      username,
      address: signsIn ? address : undefined,
      userAgent: userAgent || undefined,
    }
    const sender = await edge.senderOf(asked)
    const decided = await edge.decide(actor, { ...asked, withCredentials: signsIn })
    const { account_id: accountId, device_id: deviceId, trunk_id: trunkId, ha1, method, allowed } = decided
    if (!sender || accountId === undefined || allowed === false) return notFound
    if (deviceId === undefined && trunkId === undefined) return notFound
    // A sender that is known by its address has no name and does not register.
    if (method === 'ip' || (signsIn && ha1 === undefined)) return notFound
    const { ownerId, callerId } = await callerIdOf(sender)
    return userDocument({ realm, username, ha1, accountId, deviceId, ownerId, callerId }) ?? notFound
  }

  const comesFromCarrier = async (question: SwitchQuestion, address: Address, number: string) => {
    const port = portIn(question.variable_sip_network_port)
    return (await carriers.decide({ address, port, number })).allowed
  }

  /** The account and device that call: authenticated, else known by the address. */
  const callerIn = async (actor: Actor, question: SwitchQuestion, address: Address) => {
    const username = signedInAs(question)
    const named = username === undefined ? question.variable_sip_from_host : question.variable_domain_name
    const userAgent = question.variable_sip_user_agent || undefined
    const asked = { realm: named ?? '', username, address, userAgent, withCredentials: false }
    const decided = await edge.decide(actor, asked)
    const { account_id: accountId, device_id: deviceId, trunk_id: trunkId, method } = decided
    const account = accountId === undefined ? undefined : await accounts.find(accountId)
    const isKnown = username === undefined ? method === 'ip' : deviceId !== undefined || trunkId !== undefined
    return account && isKnown && !isKeptOut(decided) ? { realm: account.doc.realm, deviceId } : undefined
  }

  const dialplan = async (actor: Actor, question: SwitchQuestion): Promise<DialplanAction[]> => {
    const number = question['Caller-Destination-Number'] ?? ''
    if (number === '' || number.length > maxNumberLength) return refusalActions(484, 'Address Incomplete')
    const call = { number, caller: question['Caller-Caller-ID-Number'] || undefined }
    const address = parseAddress(question['Caller-Network-Addr'] ?? '')
    if (!address) return forbidden
    if (signedInAs(question) === undefined && (await comesFromCarrier(question, address, number))) {
      const brought = { ...call, realm: undefined, deviceId: undefined }
      return actionsFor(await routing.route(actor, brought), 'carrier')
    }
    const caller = await callerIn(actor, question, address)
    return caller ? actionsFor(await routing.route(actor, { ...call, ...caller }), 'account') : forbidden
  }

  return {
    async answer(actor: Actor, question: SwitchQuestion): Promise<string> {
      if (question.section === 'directory') return directory(actor, question)
      const context = question['Caller-Context'] ?? ''
      if (question.section !== 'dialplan' || !contexts.has(context)) return notFound
      return callDocument(context, await dialplan(actor, question))
    },
  }
}
