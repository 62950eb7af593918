// A harness that sees nothing would find nothing: what it calls a fault is shown here.
import { describe, expect, it } from 'vitest'
import {
  type Aim,
  findLeaks,
  isWithin,
  judge,
  noteMove,
  type Persona,
  planted,
  type Tenant,
} from '../../attack/model.ts'
import { answersIn, judgeRaw } from '../../attack/raw.ts'
import type { Operation } from '../../attack/routes.ts'
import { dechunk, shellBytes, type WireAnswer } from '../../attack/wire.ts'

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
      findLeaks(by, owners, Buffer.from(`{"a":"${planted(owner, visibility)}"}`))
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

  it('follows accounts that the operator moves, and nobody else', () => {
    const [place, moved] = [tenant(7, reseller), tenant(8, acme)]
    const leaks = () =>
      findLeaks(
        persona(place, 'admin'),
        new Map([...owners, [8, moved]]),
        Buffer.from(planted(moved, 'priv')),
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

  it('knows a 5xx that nobody named from one that was named or has its cause', () => {
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
