// What others have chosen, as parts of SIP messages. Two exclamation marks stand for an address of the edge in headers that
// are handed to it, behind a single one it loses the rest, and line ends begin a header.

/** Text that stands in a header by itself. */
export const headerText = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replaceAll('!', '')
    .trim()

/** A display name, in quotes. */
export const quoted = (text: string) => `"${headerText(text).replace(/["\\]/g, '')}"`

/** The part of a SIP address that stands before its host. */
const userPart = (text: string) =>
  encodeURIComponent(text)
    .replace(/%(?:2B|26|3D|24|2C|3B|3F|2F)/g, decodeURIComponent)
    .replaceAll('!', '%21')

/** A realm as it stands in an address. */
export const hostPart = (realm: string) => realm.replace(/[^\w.:[\]-]/g, '')

export const addressOf = ({ username, realm }: { username: string; realm: string }) =>
  `sip:${userPart(username)}@${hostPart(realm)}`

/** Headers as an edge takes them: each on a line. */
export const headerLines = (headers: readonly (readonly [name: string, value: string])[]) =>
  headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')

/** The value of a header in the text of a message. */
export const headerIn = (message: string, name: string) =>
  new RegExp(`^${name}[ \\t]*:[ \\t]*(.*)$`, 'im').exec(message)?.[1]?.trim()
