// Texts of customers must stay texts in FreeSWITCH. In a dialplan `${`, `$${` and backslashes start expansions;
// commas, pipes, `:_:`, braces and brackets separate dial strings; a quote swallows what follows; and a line
// with X-PRE-PROCESS is dropped. So every text passes one of these filters. A target that does not fit is not
// dialled.

const longestText = 80
const order = /x-pre-process/i

/** A display name: letters of any language, digits and usual punctuation. Other characters become spaces. */
export const shownText = (text: string) =>
  Array.from(
    text
      .replaceAll("'", '’')
      .replace(/[^\p{L}\p{M}\p{N} .()&+_’-]/gu, ' ')
      .replaceAll(/x-pre-process/gi, 'X pre process')
      .replace(/ +/g, ' ')
      .trim(),
  )
    .slice(0, longestText)
    .join('')
    .trim()

const fitting =
  (form: RegExp) =>
  (text: string | undefined): string | undefined =>
    text !== undefined && form.test(text) && !order.test(text) ? text : undefined

export const isOrder = (text: string) => order.test(text)

export const numberText = fitting(/^[A-Za-z0-9+*#._-]{1,64}$/)

export const userText = fitting(/^[A-Za-z0-9+._~-]{1,64}$/)

export const realmText = fitting(/^[A-Za-z0-9._-]{1,253}$/)

export const wordText = fitting(/^[A-Za-z0-9._-]{1,128}$/)

export const headerNameText = fitting(/^[A-Za-z0-9-]{1,64}$/)

export const codecText = fitting(/^[A-Za-z0-9.-]{1,32}$/)

const host = String.raw`(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])`
const sipUri = new RegExp(
  String.raw`^sips?:(?:([A-Za-z0-9+._~-]{1,64})@)?(${host})(:\d{1,5})?(;transport=(?:udp|tcp|tls))?$`,
)

/** `place`: host, port and transport, as they follow the user. Undefined: not a SIP address that may be dialled. */
export const sipAddressIn = (text: string | undefined) => {
  const [whole, user, name, port = '', transport = ''] = sipUri.exec(text ?? '') ?? []
  return whole === undefined || name === undefined
    ? undefined
    : { user, host: name, place: `${name}${port}${transport}` }
}
