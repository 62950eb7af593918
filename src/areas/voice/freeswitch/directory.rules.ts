import { numberText, realmText, shownText, userText } from './texts.rules.ts'

// XML documents for FreeSWITCH. Each element is on its own line, because FreeSWITCH drops lines that it takes
// for preprocessor commands.

interface Element {
  name: string
  attributes: Readonly<Record<string, string>>
  children: readonly Element[]
}

export const element = (
  name: string,
  attributes: Element['attributes'],
  children: Element['children'] = [],
): Element => ({ name, attributes, children })

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Characters that XML 1.0 cannot contain are dropped. Line breaks become spaces. */
const escaped = (text: string) =>
  text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[&<>"']/g, (sign) => references[sign] ?? '')

const lines = ({ name, attributes, children }: Element, indent: string): string[] => {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const opening = `${indent}<${name}${pairs.join('')}`
  if (children.length === 0) return [`${opening}/>`]
  return [`${opening}>`, ...children.flatMap((child) => lines(child, `${indent}  `)), `${indent}</${name}>`]
}

const documentOf = (section: string, child: Element) => {
  const whole = element('document', { type: 'freeswitch/xml' }, [
    element('section', { name: section }, [child]),
  ])
  return `${lines(whole, '').join('\n')}\n`
}

/** FreeSWITCH then reads its own files. */
export const notFound = documentOf('result', element('result', { status: 'not found' }))

export const dialplanDocument = (context: Element) => documentOf('dialplan', context)

/** The dialplan context of calls from users. */
export const ownContext = 'crosspoint'

interface SwitchUser {
  realm: string
  username: string
  ha1: string | undefined
  accountId: string
  deviceId: string | undefined
  ownerId: string | undefined
  callerId: { name?: string; number?: string }
}

const lookedUp = (name: string) => `\${${name}}`
const domain = lookedUp('dialed_domain')
const address = `${lookedUp('dialed_user')}@${domain}`

/** Reaches the user on any profile. Contains nothing of the user's record. */
const dialString = `{^^:sip_invite_domain=${domain}:presence_id=${address}}${lookedUp(`sofia_contact(*/${address})`)}`

const listOf = (name: string, entries: Readonly<Record<string, string | undefined>>) =>
  element(
    `${name}s`,
    {},
    Object.entries(entries).flatMap(([key, value]) => (value ? [element(name, { name: key, value })] : [])),
  )

export const userDocument = (user: SwitchUser): string | undefined => {
  const { accountId, deviceId, ownerId, callerId, ha1 } = user
  const realm = realmText(user.realm)
  const username = userText(user.username)
  if (realm === undefined || username === undefined) return undefined
  const params = listOf('param', { 'a1-hash': ha1, 'dial-string': dialString })
  const variables = listOf('variable', {
    user_context: ownContext,
    effective_caller_id_name: shownText(callerId.name ?? ''),
    effective_caller_id_number: numberText(callerId.number),
    accountcode: accountId,
    'ecallmgr_Account-ID': accountId,
    'ecallmgr_Authorizing-ID': deviceId,
    'ecallmgr_Authorizing-Type': deviceId === undefined ? undefined : 'device',
    'ecallmgr_Owner-ID': ownerId,
  })
  const userElement = element('user', { id: username }, [params, variables])
  return documentOf('directory', element('domain', { name: realm }, [userElement]))
}
