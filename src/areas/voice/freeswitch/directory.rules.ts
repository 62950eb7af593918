import { numberText, realmText, shownText, userText } from './texts.rules.ts'

// Documents as FreeSWITCH reads them. Each element stands on a line of its own: FreeSWITCH leaves out lines in which it
// takes something for an order.

/** An element with its attributes and what stands in it. */
interface Element {
  name: string
  attributes?: Readonly<Record<string, string>>
  children?: readonly Element[]
}

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** What XML 1.0 cannot say at all is left out; line ends would be read as spaces. */
const escaped = (text: string) =>
  text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[&<>"']/g, (sign) => references[sign] ?? '')

const lines = ({ name, attributes = {}, children = [] }: Element, indent: string): string[] => {
  const said = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const opening = `${indent}<${name}${said.join('')}`
  if (children.length === 0) return [`${opening}/>`]
  return [`${opening}>`, ...children.flatMap((child) => lines(child, `${indent}  `)), `${indent}</${name}>`]
}

const documentOf = (section: string, child: Element) =>
  `${lines(
    {
      name: 'document',
      attributes: { type: 'freeswitch/xml' },
      children: [{ name: 'section', attributes: { name: section }, children: [child] }],
    },
    '',
  ).join('\n')}\n`

/** FreeSWITCH looks on in its own files. */
export const notFound = documentOf('result', { name: 'result', attributes: { status: 'not found' } })

const directoryDocument = (domain: Element) => documentOf('directory', domain)

export const dialplanDocument = (context: Element) => documentOf('dialplan', context)

/** The context of the dialplan to which the calls of users go. */
export const ownContext = 'crosspoint'

/** A device, or a server of a trunk, that FreeSWITCH knows as a user. */
interface SwitchUser {
  realm: string
  username: string
  /** Only to those who hold a digest against it. */
  ha1: string | undefined
  accountId: string
  deviceId: string | undefined
  ownerId: string | undefined
  callerId: { name?: string; number?: string }
}

const lookedUp = (name: string) => `\${${name}}`
const domain = lookedUp('dialed_domain')
const address = `${lookedUp('dialed_user')}@${domain}`

/** Wherever the user is registered, on whatever profile. Nothing in it comes from the user's record. */
const dialString = `{^^:sip_invite_domain=${domain}:presence_id=${address}}${lookedUp(`sofia_contact(*/${address})`)}`

const listOf = (name: string, entries: readonly (readonly [string, string | undefined])[]): Element => ({
  name: `${name}s`,
  children: entries.flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [{ name, attributes: { name: key, value } }],
  ),
})

const shown = (text: string | undefined) => (text === undefined ? undefined : shownText(text))

/** The document of a user; undefined when a name is none that FreeSWITCH could dial. */
export const userDocument = (user: SwitchUser): string | undefined => {
  const { accountId, deviceId, ownerId, callerId, ha1 } = user
  const realm = realmText(user.realm)
  const username = userText(user.username)
  if (realm === undefined || username === undefined) return undefined
  const params = listOf('param', [
    ['a1-hash', ha1],
    ['dial-string', dialString],
  ])
  const variables = listOf('variable', [
    ['user_context', ownContext],
    ['effective_caller_id_name', shown(callerId.name)],
    ['effective_caller_id_number', numberText(callerId.number)],
    ['accountcode', accountId],
    ['ecallmgr_Account-ID', accountId],
    ['ecallmgr_Authorizing-ID', deviceId],
    ['ecallmgr_Authorizing-Type', deviceId === undefined ? undefined : 'device'],
    ['ecallmgr_Owner-ID', ownerId],
  ])
  return directoryDocument({
    name: 'domain',
    attributes: { name: realm },
    children: [{ name: 'user', attributes: { id: username }, children: [params, variables] }],
  })
}
