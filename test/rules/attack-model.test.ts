// A harness that sees nothing would find nothing: what it calls a fault is shown here.
import { describe, expect, it } from 'vitest'
import {
  type Aim,
  findLeaks,
  isAccepted,
  isWithin,
  judge,
  noteMove,
  type Persona,
  planted,
  type Tenant,
} from '../../attack/model.ts'
import { answersIn, judgeRaw } from '../../attack/raw.ts'
import { refusedClasses, refusedRequest } from '../../attack/refused.ts'
import type { Operation } from '../../attack/routes.ts'
import { asCurl, bytesOf, dechunk, shellBytes, type WireAnswer } from '../../attack/wire.ts'
import { createChance } from '../fuzz/chance.ts'

const tenant = (key: number, parent?: Tenant, is: Partial<Tenant> = {}): Tenant => ({
  key,
  title: `tenant ${key}`,
  id: String(key).padStart(32, '0'),
  parent,
  isReseller: false,
  isMaster: false,
  ids: {},
  isPlayground: false,
  isSpare: false,
  ...is,
})

const master = tenant(0, undefined, { isMaster: true })
const reseller = tenant(1, master, { isReseller: true })
const acme = tenant(2, reseller)
const rival = tenant(3, reseller)
const owners = new Map([master, reseller, acme, rival].map((one) => [one.key, one]))

const persona = (home: Tenant, kind: 'admin' | 'user' | 'key'): Persona => ({
  title: kind,
  headers: {},
  actor: { tenant: home, kind, userId: undefined, isRestricted: false },
  home,
  oneIn: 1,
})
const ghost: Persona = { ...persona(acme, 'user'), actor: undefined }

const operation = (policy: string, faults: number[] = []): Operation => ({
  method: 'GET',
  path: '/v2/accounts/{account_id}/users',
  policy,
  variables: ['account_id'],
  query: [],
  isList: false,
  body: undefined,
  uploads: [],
  faults: new Set(faults),
})

const aimAt = (target: Tenant, policy = 'account or ancestor', faults: number[] = []): Aim => ({
  operation: operation(policy, faults),
  target,
  userId: undefined,
})

const answer = (status: number, envelope: object, headers: Record<string, string> = {}): WireAnswer => ({
  status,
  headers: new Map(
    Object.entries({
      'content-type': 'application/json',
      'x-request-id': 'a',
      'access-control-allow-origin': '*',
      ...headers,
    }),
  ),
  body: Buffer.from(JSON.stringify({ request_id: 'a', ...envelope })),
  ms: 1,
  mistake: undefined,
})

const good = answer(200, { status: 'success', data: {} })
const failed = (status: number, message: string) =>
  answer(status, { status: 'error', error: String(status), message, data: {} })

const calm = { isStoreCut: false, isThrottled: false }

describe('the model of an attack', () => {
  it('calls a planted text a leak where the caller may not see it', () => {
    const seenBy = (by: Persona, owner: Tenant, visibility: Parameters<typeof planted>[1]) =>
      findLeaks(by, owners, Buffer.from(`{"a":"${planted(owner, visibility)}"}`), undefined)
    expect(seenBy(persona(acme, 'admin'), rival, 'priv')).toEqual(['cnry3xprivz of tenant 3'])
    expect(seenBy(persona(acme, 'admin'), acme, 'priv')).toEqual([])
    expect(seenBy(persona(reseller, 'admin'), acme, 'priv')).toEqual([])
    expect(seenBy(persona(reseller, 'user'), acme, 'priv')).toEqual(['cnry2xprivz of tenant 2'])
    expect(seenBy(persona(reseller, 'user'), acme, 'name')).toEqual([])
    expect(seenBy(persona(acme, 'user'), reseller, 'plan')).toEqual([])
    expect(seenBy(persona(acme, 'user'), reseller, 'priv')).toEqual(['cnry1xprivz of tenant 1'])
    expect(seenBy(persona(master, 'admin'), acme, 'secr')).toEqual(['cnry2xsecrz of tenant 2'])
    expect(seenBy(ghost, acme, 'name')).toEqual(['cnry2xnamez of tenant 2'])
    expect(seenBy(ghost, acme, 'publ')).toEqual([])
  })

  it('ignores planted texts that the request itself contains', () => {
    const text = planted(rival, 'name')
    const seenAfter = (sent: string) =>
      findLeaks(persona(acme, 'admin'), owners, Buffer.from(text), Buffer.from(sent))
    expect(seenAfter('{}')).toHaveLength(1)
    expect(seenAfter(`{"domain":"${text.toUpperCase()}.test"}`)).toEqual([])
  })

  it('finds requests that were accepted by mistake', () => {
    const isFound = (given: WireAnswer, secret?: string) =>
      isAccepted({ title: 'a', ...(secret === undefined ? {} : { secret }) }, given)
    expect(isFound(good)).toBe(true)
    expect(isFound(failed(403, 'forbidden'))).toBe(false)
    const shown = answer(200, { metadata: { api_key: 'new-key' } })
    expect(isFound(shown, 'new-key')).toBe(true)
    expect(isFound(good, 'new-key')).toBe(false)
  })

  it('says who is let in by mistake', () => {
    const faultsOf = (by: Persona, aim: Aim) => judge(by, aim, 'GET', good, calm)
    expect(faultsOf(persona(acme, 'user'), aimAt(acme))).toEqual([])
    expect(faultsOf(persona(reseller, 'key'), aimAt(acme))).toEqual([])
    expect(faultsOf(persona(rival, 'admin'), aimAt(acme))).toEqual(['admin was let in: account or ancestor'])
    expect(faultsOf(persona(reseller, 'user'), aimAt(acme))).toEqual(['user was let in: account or ancestor'])
    expect(faultsOf(persona(acme, 'user'), aimAt(acme, 'admin of account or ancestor'))).toEqual([
      'user was let in: admin of account or ancestor',
    ])
    expect(faultsOf(persona(master, 'user'), aimAt(acme, 'superduper'))).toEqual([
      'user was let in: superduper',
    ])
    expect(faultsOf(ghost, aimAt(acme, 'any token'))).toEqual(['user was let in: any token'])
    expect(faultsOf(ghost, aimAt(acme, 'anyone'))).toEqual([])
  })

  it('follows an account that the operator moves, and ignores other moves', () => {
    const [place, moved] = [tenant(7, reseller), tenant(8, acme)]
    const leaks = () =>
      findLeaks(
        persona(place, 'admin'),
        new Map([...owners, [8, moved]]),
        Buffer.from(planted(moved, 'priv')),
        undefined,
      )
    const request = { path: `/v2/accounts/${moved.id}/move`, body: Buffer.from(`{"to":"${place.id}"}`) }
    expect(leaks()).toHaveLength(1)
    noteMove(persona(acme, 'admin'), request, [moved, place])
    noteMove(persona(master, 'user'), request, [moved, place])
    noteMove(persona(master, 'admin'), { ...request, path: '/v2/accounts' }, [moved, place])
    expect(leaks()).toHaveLength(1)
    noteMove(persona(master, 'admin'), request, [moved, place])
    expect(leaks()).toEqual([])
    noteMove(persona(master, 'key'), { path: `/${place.id}/move`, body: Buffer.from(moved.id) }, [
      moved,
      place,
    ])
    expect(isWithin(moved, rival)).toBe(false)
  })

  it('distinguishes an unexplained 5xx from one that is named or has a known cause', () => {
    const faultsOf = (status: number, message: string, isStoreCut: boolean) =>
      judge(
        persona(acme, 'admin'),
        aimAt(acme, 'account or ancestor', [500, 503]),
        'GET',
        failed(status, message),
        {
          ...calm,
          isStoreCut,
        },
      )
    expect(faultsOf(500, 'unspecified_fault', true)).toEqual(['500 unspecified_fault'])
    expect(faultsOf(500, 'no media switch is configured', false)).toEqual([])
    expect(faultsOf(501, 'not_configured', false)).toEqual(['501 not_configured'])
    expect(faultsOf(503, 'datastore_unreachable', false)).toEqual(['503 datastore_unreachable'])
    expect(faultsOf(503, 'datastore_unreachable', true)).toEqual([])
  })

  it('reads envelopes', () => {
    const faultsOf = (given: WireAnswer) => judge(persona(acme, 'admin'), aimAt(acme), 'GET', given, calm)
    expect(faultsOf(answer(200, { status: 'error' }))).toEqual(['a status that does not fit'])
    expect(faultsOf(answer(200, { status: 'success' }, { 'x-request-id': 'b' }))).toEqual([
      'another request id inside',
    ])
    expect(faultsOf({ ...good, body: Buffer.from('{') })).toEqual(['an answer that says JSON and is none'])
    expect(faultsOf(failed(429, 'too_many_requests'))).toEqual(['throttled where nothing has a price'])
  })

  it('counts answers to bytes', () => {
    const one = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
    const last = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
    const judged = (text: string, mostAnswers = 1, isStoreCut = false) =>
      judgeRaw(
        { title: 'a', bytes: Buffer.alloc(0), mostAnswers, isWhole: true },
        Buffer.from(text),
        isStoreCut,
      )
    expect(judged(interim + one)).toEqual([])
    expect(judged(chunked + one, 2)).toEqual([])
    expect(judged(one + one)).toEqual(['2 answers: smuggled'])
    expect(judged(last + one, 2)).toEqual(['an answer behind Connection: close'])
    expect(judged(one.replace('200', '500'))).toEqual(['500'])
    expect(judged(`${one}rubbish`, 2)).toEqual(['bytes that are no answer'])
    const cut = one.replace('200 OK', '503 Service Unavailable')
    expect(judged(cut, 0, true)).toEqual([])
    expect(judged(one, 0, true)).toEqual(['1 answers: smuggled'])
    expect(judged(cut + one, 0, true)).toEqual(['2 answers: smuggled'])
    expect(answersIn(Buffer.from(one + last))?.map(({ status }) => status)).toEqual([200, 400])
  })

  it('takes chunks apart, and writes bytes as a shell reads them', () => {
    expect(dechunk(Buffer.from('3\r\nabc\r\n0\r\n\r\nrest'))).toEqual({ body: Buffer.from('abc'), end: 13 })
    expect(dechunk(Buffer.from('3\r\nab'))).toBeUndefined()
    expect(shellBytes(Buffer.from("a'\r\n\0\\z"))).toBe("$'a\\x27\\x0d\\x0a\\x00\\x5cz'")
  })
})

describe('requests that the server must reject', () => {
  const operator = { ...persona(master, 'admin'), title: 'operator', home: acme }
  const actorOf = (home: Tenant, kind: 'admin' | 'user' | 'key', more: object) => ({
    ...persona(home, kind),
    title: Object.keys(more).join(),
    actor: { tenant: home, kind, userId: undefined, isRestricted: false, ...more },
  })
  const personas: readonly Persona[] = [
    { ...ghost, title: 'ended session' },
    persona(acme, 'admin'),
    { ...actorOf(acme, 'user', { userId: 'u' }), title: 'user' },
    persona(acme, 'key'),
    actorOf(acme, 'key', { scopes: ['users:write'] }),
    actorOf(acme, 'key', { newKey: 'new-key' }),
    { ...actorOf(master, 'user', { userId: 'm' }), title: 'user of the master account' },
    operator,
  ]
  const stage = { tenants: [master, reseller, acme, rival], personas, victims: [rival] }
  const everyone = personas.map(({ title }) => title)

  it('are of classes, each for these personas', () => {
    const table = refusedClasses.map(({ title, isFor }) => {
      const titles = personas.filter(isFor).map((one) => one.title)
      return [title, titles.length === personas.length ? 'everyone' : titles]
    })
    const users = ['user', 'user of the master account']
    const keys = ['key', 'scopes', 'newKey']
    expect(Object.fromEntries(table)).toEqual({
      'a forbidden destination': 'everyone',
      'a host name of another account': 'everyone',
      'a control character in a line of text': 'everyone',
      'more keys than a record may have': 'everyone',
      'a text that is not UTF-8, or an integer that JSON cannot hold exactly': 'everyone',
      'two Host headers, a malformed one or none': 'everyone',
      'more than the scopes of a key': ['scopes'],
      'more than an ordinary user may': users,
      'more than an account may': ['admin', 'user', ...keys, 'user of the master account'],
      'no valid session': ['ended session'],
      'keys and renewal for a session of a replaced API key': ['newKey'],
      'the new API key in the account, for a session of a replaced one': ['newKey'],
    })
  })

  it.each(refusedClasses.map((one) => [one.title, one] as const))(
    '%s: are made for each of them, with their credentials',
    (_title, { isFor, make, oneIn = 1 }) => {
      const asking = personas.filter(isFor)
      expect(asking).not.toEqual([])
      for (const one of asking) {
        const signed = { ...one, headers: { 'x-auth-token': one.title } }
        for (let seed = 0; seed < (oneIn === 1 ? 100 : 3); seed += 1) {
          const request = make({ chance: createChance(seed), stage, persona: signed })
          expect(request.headers['x-auth-token']).toBe(one.title)
          expect(request.path).toMatch(/^\/v2\/\w+/)
          expect(request.path).not.toContain('undefined')
        }
      }
    },
  )

  it('are drawn from the classes of the persona, with the text that no response may show', () => {
    for (const one of personas) {
      const drawn = Array.from({ length: 2000 }, (_, seed) =>
        refusedRequest(createChance(seed), stage, one),
      ).filter((request) => request !== undefined)
      const titles = new Set(drawn.map(({ refusal }) => refusal.title))
      const own = refusedClasses.filter(({ isFor }) => isFor(one)).map(({ title }) => title)
      expect([...titles].sort(), one.title).toEqual(own.sort())
    }
    expect(everyone).toHaveLength(new Set(everyone).size)
    const holder = personas.filter(({ actor }) => actor?.newKey !== undefined)
    const secrets = Array.from({ length: 200 }, (_, seed) =>
      refusedRequest(createChance(seed), stage, holder[0] as Persona),
    ).flatMap((request) => request?.refusal.secret ?? [])
    expect(new Set(secrets)).toEqual(new Set(['new-key']))
  })

  it('have the Host headers that they name', () => {
    const request = { method: 'GET', path: '/', headers: {}, body: undefined }
    expect(bytesOf(request).toString()).toContain('\r\nhost: attack.test\r\n')
    const two = { ...request, hosts: ['a', 'b'] }
    expect(bytesOf(two).toString()).toBe('GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n')
    expect(asCurl(80, two)).toMatch(/^printf .* \| nc 127\.0\.0\.1 80$/)
  })
})
