// What customers have written must stay text in FreeSWITCH. In a dialplan `${`, `$${` and a backslash begin something that
// is looked up or run, commas, pipes, `:_:`, braces and brackets part what is dialled, a quote swallows what follows, and
// a line that names X-PRE-PROCESS is taken out of the document. So every text passes through one of these, which know
// what may stay; what is to be dialled and does not fit is not dialled.

const longestText = 80
const order = /x-pre-process/i

/** A name to be shown: letters of any language, digits, and what names are written with. Everything else is a space. */
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

/** Whether FreeSWITCH would take the line for an order. */
export const isOrder = (text: string) => order.test(text)

/** A number or an extension. */
export const numberText = fitting(/^[A-Za-z0-9+*#._-]{1,64}$/)

/** A SIP user name. */
export const userText = fitting(/^[A-Za-z0-9+._~-]{1,64}$/)

/** A realm. */
export const realmText = fitting(/^[A-Za-z0-9._-]{1,253}$/)

/** An id, or another word of the platform. */
export const wordText = fitting(/^[A-Za-z0-9._-]{1,128}$/)

export const headerNameText = fitting(/^[A-Za-z0-9-]{1,64}$/)

export const codecText = fitting(/^[A-Za-z0-9.-]{1,32}$/)

const host = String.raw`(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])`
const sipUri = new RegExp(
  String.raw`^sips?:(?:([A-Za-z0-9+._~-]{1,64})@)?(${host})(:\d{1,5})?(;transport=(?:udp|tcp|tls))?$`,
)

/** The parts of a SIP address. */
interface SipAddress {
  user: string | undefined
  host: string
  /** Host, port and transport as they stand behind the user. */
  place: string
}

/** Undefined: nothing that is dialled. */
export const sipAddressIn = (text: string | undefined): SipAddress | undefined => {
  const [whole, user, name, port = '', transport = ''] = sipUri.exec(text ?? '') ?? []
  return whole === undefined || name === undefined
    ? undefined
    : { user, host: name, place: `${name}${port}${transport}` }
}
