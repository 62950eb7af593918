/** A request that this page made, as it can be made again with curl. */
export interface Exchange {
  id: number
  method: string
  /** Path and query, as they were sent. */
  path: string
  body: string | undefined
  contentType: string | undefined
  accept: string | undefined
  status: number | undefined
  /** The answer's text; undefined for what is no JSON, or is too large to keep. */
  answer: string | undefined
}

const kept = 40
// An answer of a page of a list has some 50 kB.
const keptCharacters = 200_000

let exchanges: readonly Exchange[] = []
let lastId = 0
const listeners = new Set<() => void>()

const tell = (next: readonly Exchange[]) => {
  exchanges = next
  for (const listener of listeners) listener()
}

// Every response repeats the token, which must not be pasted into tickets.
const withoutToken = (answer: string) => answer.replaceAll(/"auth_token":"[^"]*"/g, '"auth_token":"***"')

const isJson = (response: Response) =>
  response.headers.get('content-type')?.startsWith('application/json') === true

const change = (id: number, found: Partial<Exchange>) =>
  tell(exchanges.map((one) => (one.id === id ? { ...one, ...found } : one)))

const keepAnswer = async (id: number, response: Response) => {
  const { status } = response
  const announced = Number(response.headers.get('content-length') ?? 0)
  if (!isJson(response) || announced > keptCharacters) return change(id, { status })
  const text = withoutToken(await response.clone().text())
  change(id, { status, answer: text.length > keptCharacters ? undefined : text })
}

// Secrets that are typed in here are not shown again anywhere, and the journal is of what one learns from.
const isSecret = (path: string) => /\/(user_auth|api_auth|auth|multi_factor)(\/|\?|$)/.test(path)

const withoutPasswords = (body: string) =>
  body.replaceAll(/"(password|credentials)":"(?:[^"\\]|\\.)*"/g, '"$1":"***"')

// User passwords are never read; SIP passwords are part of the device record.
const shownBody = (path: string, body: string) =>
  /\/users(\/[^/]+)?$/.test(path) ? withoutPasswords(body) : body

/** `fetch`, with a note of what was asked and answered: the panel "API" shows it. */
export const journalled: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const { pathname, search } = new URL(request.url)
  const path = `${pathname}${search}`
  if (isSecret(pathname)) return fetch(request)
  lastId += 1
  const id = lastId
  const contentType = request.headers.get('content-type') ?? undefined
  const body = contentType?.startsWith('application/json')
    ? shownBody(pathname, await request.clone().text())
    : undefined
  const accept = request.headers.get('accept') ?? undefined
  const noted = {
    id,
    method: request.method,
    path,
    body,
    contentType,
    accept,
    status: undefined,
    answer: undefined,
  }
  // Repeated reads of a screen are listed once.
  const others = exchanges.filter(
    (one) => noted.method !== 'GET' || one.method !== 'GET' || one.path !== path,
  )
  tell([noted, ...others].slice(0, kept))
  const response = await fetch(request)
  void keepAnswer(id, response).catch(() => undefined)
  return response
}

export const journal = {
  read: () => exchanges,
  subscribe(listener: () => void) {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** A shell command. `$TOKEN` replaces the token, which must not be pasted into tickets. */
export const curlOf = ({
  method,
  path,
  body,
  contentType,
  accept,
}: Pick<Exchange, 'method' | 'path' | 'body' | 'contentType' | 'accept'>) =>
  [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} -H "X-Auth-Token: $TOKEN"`,
    ...(accept && accept !== '*/*' && accept !== 'application/json'
      ? [`-H ${quoted(`Accept: ${accept}`)}`]
      : []),
    ...(body === undefined
      ? []
      : [`-H ${quoted(`Content-Type: ${contentType ?? 'application/json'}`)} -d ${quoted(body)}`]),
    quoted(`${location.origin}${path}`),
  ].join(' ')
