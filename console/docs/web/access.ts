// The server and the token for tried operations.

export interface Access {
  /** The origin, and path where a proxy adds one. */
  server: string
  token: string | undefined
  accountId: string | undefined
}

const sessionKey = 'crosspoint.session'
const serverKey = 'crosspoint.docs.server'

/** The session that the console has stored. */
const readSession = () => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(sessionKey) ?? 'null')
    if (typeof kept !== 'object' || kept === null || !('token' in kept)) return undefined
    const accountId = 'accountId' in kept && typeof kept.accountId === 'string' ? kept.accountId : undefined
    return typeof kept.token === 'string' ? { token: kept.token, accountId } : undefined
  } catch {
    return undefined
  }
}

const field = (label: string, input: HTMLInputElement) => {
  const row = document.createElement('label')
  row.append(`${label} `, input)
  return row
}

const inputOf = (type: string) => {
  const input = document.createElement('input')
  input.type = type
  input.autocomplete = 'off'
  input.spellcheck = false
  return input
}

const addressOf = (text: string) => (URL.canParse(text) ? text.replace(/\/+$/, '') : undefined)

/** Fills the place above the operations; answers with what holds at the moment of asking. */
export const createAccess = (place: Element, consoleUrl: string | undefined): (() => Access) => {
  const told = document.createElement('p')
  told.setAttribute('role', 'status')
  const token = inputOf('password')
  const server = inputOf('url')
  server.value = localStorage.getItem(serverKey) ?? ''
  server.placeholder = 'https://voice.example.com'
  server.addEventListener('change', () => localStorage.setItem(serverKey, server.value))

  const access = (): Access => {
    const session = consoleUrl === undefined ? undefined : readSession()
    const typed = token.value.trim()
    return {
      server: consoleUrl === undefined ? (addressOf(server.value) ?? '') : location.origin,
      token: typed === '' ? session?.token : typed,
      accountId: session?.accountId,
    }
  }

  const tell = () => {
    const now = access()
    if (consoleUrl === undefined) {
      told.textContent =
        now.server === '' ? 'To try operations, name a server.' : `Operations are tried on ${now.server}.`
      return
    }
    if (now.token !== undefined) {
      told.textContent =
        'Operations are tried on this server, with what is stored there, as the user who is signed in.'
      return
    }
    const signIn = document.createElement('a')
    signIn.href = consoleUrl
    signIn.textContent = 'Sign in'
    told.replaceChildren('You are not signed in. ', signIn, ' to try operations, or use a token.')
  }
  for (const input of [token, server]) input.addEventListener('input', tell)
  addEventListener('storage', tell)
  addEventListener('focus', tell)
  tell()

  const fields = document.createElement('div')
  fields.className = 'fields'
  if (consoleUrl === undefined) fields.append(field('Address of the server', server))
  fields.append(field(consoleUrl === undefined ? 'Token' : 'Another token', token))
  place.replaceChildren(told, fields)
  return access
}
