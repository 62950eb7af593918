import { isObject } from '../../lib/json.ts'
import type { Party } from '../media-switch.ts'
import { type Edge, EdgeRefusal } from './edges.ts'
import { textIn } from './registrations.ts'
import { edgeContact, firstIn, headerLines, headerText } from './requests.ts'

/** The dialog profile of an account, if the edge has profiles. */
const profile = 'account'

const states = { confirmed: [3, 4], ended: 5 }

const numberIn = (fields: Record<string, unknown>, name: string) => Number(fields[name] ?? 0)

const variablesIn = (listed: unknown): Record<string, string> =>
  Object.fromEntries(
    (Array.isArray(listed) ? listed : []).flatMap((one: unknown) =>
      isObject(one) ? Object.entries(one).map(([name, value]) => [name, String(value)]) : [],
    ),
  )

/** One side of a dialog. `sequence`: CSeq of its last request. `route`: as in a Route header. */
const legOf = (fields: unknown) => ({
  tag: textIn(fields, 'tag') ?? '',
  contact: textIn(fields, 'contact'),
  route: textIn(fields, 'route_set'),
  socket: textIn(fields, 'socket'),
  sequence: textIn(fields, 'cseq') ?? '1',
})

const hostIn = (address: string) => /^sips?:(?:[^@]*@)?(\[[^\]]*\]|[^:;]+)/i.exec(address)?.[1]

/** Known only after an answer. The edge writes account, server and so on into `leg`. */
const calledIn = ({ leg }: Record<string, string>): Party | undefined => {
  if (leg === undefined) return undefined
  const [type = '', id = '', name, username, accountId = '', request = ''] = leg.split('|')
  if (type !== 'trunk') return { accountId, type, id }
  // An unnamed server has its position as name, which changes when another one is deleted.
  return { accountId, type, id, server: username ? { username } : { name, host: hostIn(request) } }
}

const callOf = (at: Edge, dialog: unknown) => {
  if (!isObject(dialog) || typeof dialog['call-id'] !== 'string') return undefined
  const state = numberIn(dialog, 'state')
  if (state >= states.ended) return undefined
  const isAnswered = states.confirmed.includes(state)
  const legs = { caller: legOf(dialog.caller), callee: legOf(dialog.callee) }
  const variables = variablesIn(dialog.variables)
  return {
    callId: dialog['call-id'],
    from: textIn(dialog, 'from_uri') ?? '',
    to: textIn(dialog, 'to_uri') ?? '',
    isAnswered,
    /** Unix seconds. */
    began: numberIn(dialog, 'init_ts'),
    answered: isAnswered ? numberIn(dialog, 'start_ts') : undefined,
    /** The side that has answered. */
    called: isAnswered ? calledIn(variables) : undefined,
    /** Variables that the edge got: `account_id`, `authorizing_id`, `owner_id`, `direction`, ... */
    variables,
    at,
    entry: numberIn(dialog, 'h_entry'),
    id: numberIn(dialog, 'h_id'),
    legs,
  }
}

export type EdgeCall = NonNullable<ReturnType<typeof callOf>>

const callsIn = (at: Edge, answer: unknown): EdgeCall[] =>
  (Array.isArray(answer) ? answer : [answer]).flatMap((dialog: unknown) => callOf(at, dialog) ?? [])

/** The answer of an edge, or something else if it does not know the method or the profile. */
const askOr = async <T>(ask: Promise<unknown>, otherwise: () => T) => {
  try {
    return await ask
  } catch (error) {
    if (error instanceof EdgeRefusal && error.code === 404) return otherwise()
    throw error
  }
}

/** An edge without profiles lists all its dialogs. */
const dialogsOf = (edge: Edge, accountId: string) =>
  askOr(edge.ask('dlg.profile_list', [profile, accountId]), () => edge.ask('dlg.list', []))

const isOf = (accountId: string) => (call: EdgeCall) => call.variables.account_id === accountId

export const callsAt = async (edge: Edge, accountId: string) =>
  callsIn(edge, await dialogsOf(edge, accountId)).filter(isOf(accountId))

export const callAt = async (edge: Edge, accountId: string, callId: string) =>
  callsIn(edge, await edge.ask('dlg.dlg_list', [callId])).find(isOf(accountId))

export const callsFrom = async (edge: Edge, address: string) =>
  callsIn(edge, await askOr(edge.ask('dlg.list_match', ['furi', 'eq', address, 100]), () => []))

// The edge's own request has the next number.
const behindTheEdges = 2

const byeToCallee = ({ callId, from, to, legs: { caller, callee } }: EdgeCall) => {
  const { contact, route, socket, tag } = callee
  const sequence = Number(caller.sequence) + behindTheEdges
  const headers = [
    ...(route === undefined ? [] : [['Route', route] as const]),
    ['From', `<${from}>;tag=${caller.tag}`] as const,
    ['To', `<${to}>;tag=${tag}`] as const,
    ['Call-ID', callId] as const,
    ['CSeq', `${sequence} BYE`] as const,
  ].map(([name, value]) => [name, headerText(value)] as const)
  const lines = headerLines([...headers, ['Contact', edgeContact]])
  return ['BYE', contact, firstIn(route) ?? '.', socket ?? '.', lines, '']
}

/**
 * Kamailio 5.6 sends BYE to both phones of an answered call, but not to the called phone if the caller's phone
 * responds first, unless its configuration prevents that (records.cfg does). So the called phone gets another
 * BYE, which does no harm.
 */
const endAnswered = async (call: EdgeCall) => {
  const { at, entry, id, legs } = call
  await at.ask('dlg.end_dlg', [entry, id])
  if (legs.callee.contact === undefined) return
  await at.ask('tm.t_uac_start', byeToCallee(call)).catch((error) => {
    if (!(error instanceof EdgeRefusal)) throw error
  })
}

/** A ringing call is cancelled, as the caller would. False: it has ended already. */
export const endCall = async (call: EdgeCall) => {
  const { at, callId, isAnswered, legs } = call
  try {
    await (isAnswered ? endAnswered(call) : at.ask('tm.cancel', [callId, legs.caller.sequence]))
    return true
  } catch (error) {
    if (error instanceof EdgeRefusal) return false
    throw error
  }
}

const callerOf = ({ variables }: EdgeCall): Party => {
  const { account_id: accountId = '', authorizing_type: type = '', authorizing_id: id = '' } = variables
  const { caller_username: username, caller_at: address = '' } = variables
  return { accountId, type, id, ...(type === 'trunk' ? { server: { username, host: hostIn(address) } } : {}) }
}

const partiesOf = (call: EdgeCall): Party[] => [callerOf(call), call.called ?? []].flat()

/** Ends calls with a party of the account that is to end, except calls to emergency numbers. */
export const endCallsAt = async (
  edge: Edge,
  accountId: string,
  isToEnd: (party: Party) => Promise<boolean>,
) => {
  for (const call of callsIn(edge, await dialogsOf(edge, accountId))) {
    if (call.variables.emergency === '1') continue
    for (const party of partiesOf(call)) {
      if (party.accountId !== accountId || !(await isToEnd(party))) continue
      await endCall(call)
      break
    }
  }
}
