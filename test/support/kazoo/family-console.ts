// The public single-page console of the family as a client: what it sends, in which order, and what it breaks on.
import { expect } from 'vitest'
import type { Json } from '../../../src/lib/json.ts'
import type { Answer, Client } from '../world/client.ts'
import { credentialsOf } from '../world/world.ts'

const origin = 'https://console.example.test'
const mark = { version: '5.3.0', ui: 'monster-ui', origin: 'accounts' }

const listIn = (header: unknown) =>
  String(header)
    .toLowerCase()
    .split(/\s*,\s*/)

/** A browser with a page of another origin: it asks before it sends, and shows a page nothing that it may not see. */
const createBrowser = (client: Client) => {
  const preflights = { count: 0 }

  const preflight = async (method: string, path: string, names: readonly string[]) => {
    preflights.count += 1
    const asked = {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': names.join(','),
    }
    const { status, text, headers } = await client.options(path, { headers: asked })
    expect([status, text]).toEqual([200, ''])
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(listIn(headers['access-control-allow-methods'])).toContain(method.toLowerCase())
    expect(listIn(headers['access-control-allow-headers'])).toEqual(expect.arrayContaining([...names]))
  }

  return {
    preflights,

    async send(method: string, path: string, headers: Record<string, string>, body?: string) {
      await preflight(method, path, Object.keys(headers))
      const content = body === undefined ? {} : { body }
      const answer = await client.request(method, path, undefined, {
        headers: { origin, ...headers },
        ...content,
      })
      // Without it a page sees a network failure instead of the status.
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      return answer
    },

    /** An image or a download: a plain link with its token in the query. */
    open: (path: string) => client.get(path),
  }
}

interface Asked {
  method: string
  path: string
  data?: Json
  /** Keys next to `data`. */
  envelope?: Json
  raw?: { type: string; body: string }
}

/** What a charges box shows. */
export interface Charge {
  bookkeeper: string
  rows: readonly unknown[][]
}

interface Invoice {
  bookkeeper: { type: string }
  items: { item: string; quantity: number; rate: number; discount?: number; total: number }[]
}

/** A JSON body is read where the content type is exactly this text; a success without `data` counts as a failure. */
const readable = (answer: Answer) => {
  if (answer.status === 304) return answer
  expect(answer.headers['content-type'], answer.text).toBe('application/json')
  expect(answer.data, answer.text).toBeDefined()
  return answer
}

export class FamilyConsole {
  readonly #browser: ReturnType<typeof createBrowser>
  #login: { credentials: string; account_name: string } | undefined
  #milliseconds = 1_700_000_000_000
  token: string | undefined
  accountId = ''
  userId = ''
  /** Each request but preflights: method, path below `/v2/`, status. */
  readonly seen: string[] = []
  /** The charges that the console showed to the user. */
  readonly charges: Charge[][] = []

  constructor(client: Client) {
    this.#browser = createBrowser(client)
  }

  get preflights() {
    return this.#browser.preflights.count
  }

  get isSignedIn() {
    return this.token !== undefined
  }

  /** The requests since the last call. */
  takeSeen() {
    return this.seen.splice(0)
  }

  async #send({ method, path, data, envelope, raw }: Asked, headers: Record<string, string>) {
    // No two addresses are alike, so that nothing is taken from a cache.
    this.#milliseconds += 1
    const url = method === 'GET' ? `${path}${path.includes('?') ? '&' : '?'}_=${this.#milliseconds}` : path
    const body = raw?.body ?? (method === 'GET' ? undefined : JSON.stringify({ data, ...envelope }))
    const answer = await this.#browser.send(method, `/v2/${url}`, headers, body)
    this.seen.push(`${method} ${path} ${answer.status}`)
    return answer
  }

  /** Before sign-in the token is the text `undefined`. */
  #headers({ raw }: Asked) {
    return { 'content-type': raw?.type ?? 'application/json', 'x-auth-token': String(this.token) }
  }

  async #once(asked: Asked) {
    const data = asked.raw || asked.method === 'GET' ? {} : { data: { ...asked.data, ui_metadata: mark } }
    return this.#send({ ...asked, ...data }, this.#headers(asked))
  }

  /** A 401 means that the token has expired: the console signs in again once, and repeats the request. */
  async #lasting(asked: Asked) {
    const answer = await this.#once(asked)
    if (answer.status !== 401 || !this.#login) return answer
    const again = await this.#ask()
    const repeated = again.status === 201 ? await this.#once(asked) : again
    if (repeated.status === 401) this.signOut()
    return repeated
  }

  async #ask(): Promise<Answer> {
    const data = { ...this.#login }
    const headers = { 'content-type': 'application/json' }
    const answer = readable(await this.#send({ method: 'PUT', path: 'user_auth', data }, headers))
    if (answer.status === 201) this.#begin(answer)
    return answer
  }

  /** The token is cut at its dots, and its second part is read. */
  #begin({ body, data }: Answer) {
    const [, payload] = String(body.auth_token).split('.')
    expect(JSON.parse(Buffer.from(String(payload), 'base64url').toString())).toMatchObject({
      account_id: data.account_id,
      owner_id: data.owner_id,
    })
    this.token = body.auth_token
    this.accountId = data.account_id
    this.userId = data.owner_id
  }

  async get(path: string) {
    return readable(await this.#lasting({ method: 'GET', path }))
  }

  /** Writes, and agrees to what it costs when the user would. */
  async write(method: string, path: string, data: Json = {}, agrees = true): Promise<Answer> {
    const answer = readable(await this.#lasting({ method, path, data }))
    if (answer.status !== 402) return answer
    this.charges.push(
      (answer.data as Invoice[]).map(({ bookkeeper, items }) => ({
        bookkeeper: bookkeeper.type,
        rows: items
          .filter(({ quantity }) => quantity !== 0)
          .map(({ item, quantity, rate, total }) => [item, quantity, rate, total]),
      })),
    )
    if (!agrees) return answer
    return readable(await this.#lasting({ method, path, data, envelope: { accept_charges: true } }))
  }

  async upload(path: string, type: string, body: string) {
    return readable(await this.#lasting({ method: 'POST', path, raw: { type, body } }))
  }

  /** A link to something of the account. */
  link(path: string) {
    const mark = path.includes('?') ? '&' : '?'
    return this.#browser.open(`/v2/${path}${mark}auth_token=${this.token}`)
  }

  signOut() {
    this.#login = undefined
    this.token = undefined
  }

  /** The page is loaded: what does it look like here? */
  async load(hostname: string) {
    const look = await this.get(`whitelabel/${hostname}`)
    const pictures = []
    for (const picture of ['logo', 'logo', 'icon'])
      pictures.push(await this.#lasting({ method: 'GET', path: `whitelabel/${hostname}/${picture}` }))
    return { look, pictures }
  }

  /** From the login form to the first screen; without it when a call fails that has to work. */
  async signIn(username: string, password: string, accountName: string) {
    this.#login = { credentials: credentialsOf(username, password), account_name: accountName }
    const answer = await this.#ask()
    if (answer.status !== 201) this.#login = undefined
    return answer
  }

  /** The page is loaded again: the token is in a cookie. */
  async reload() {
    const headers = { 'content-type': 'application/json' }
    const data = { token: this.token ?? '' }
    return readable(await this.#send({ method: 'POST', path: 'auth/tokeninfo', data }, headers))
  }

  /** What follows a sign-in, in its order. */
  async arrive() {
    const account = `accounts/${this.accountId}`
    const user = `${account}/users/${this.userId}`
    await this.get(`${account}/external_numbers`)
    const { data: own } = await this.get(account)
    const { data: person } = await this.get(user)
    const apps = await this.get(`${account}/apps_store`)
    const isReady = [own.name, person.first_name, person.last_name].every((text) => typeof text === 'string')
    if (!isReady || !Array.isArray(apps.data)) return this.signOut()
    await this.write('PATCH', user, { appList: apps.data.map(({ id }: { id: string }) => id) })
    const limits = await this.get(`${account}/limits`)
    expect(limits.data.twoway_trunks).toEqual(expect.any(Number))
    expect((await this.get(`${account}/ledgers/total`)).data.amount).toEqual(expect.any(Number))
    await this.get(`${account}/braintree/customer`)
    if (own.ui_restrictions === undefined) {
      const { data: record } = await this.get(account)
      await this.writeAccount(record, { ui_restrictions: { myaccount: { profile: { show_tab: true } } } })
    }
    await this.get(`${account}/alerts`)
  }

  /** Sends the record of an account without its read-only fields, with a change. */
  writeAccount(record: Json, change: Json) {
    const sent: Json = { ...record, ...change }
    for (const key of [
      'billing_mode',
      'superduper_admin',
      'wnm_allow_additions',
      'created',
      'is_reseller',
      'reseller_id',
    ])
      delete sent[key]
    return this.write('POST', `accounts/${record.id}`, sent)
  }
}
