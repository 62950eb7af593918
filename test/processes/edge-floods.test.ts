// Floods and guesses at Debian's Kamailio with the configuration that is shipped. Loopback has many addresses; a second socket at an address
// stands for packets that someone else sends under it.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { standardSystemLimits } from '../../src/areas/voice/rate-limits/rules.ts'
import { digestOf, freshToken, headerOf, outcomeOf, writeMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { edgeOf, makeAccount, makePhone, openSipPlace } from '../support/phones/sip-place.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { removeDataDir } from '../support/servers/server-process.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { passwordOf } from '../support/servers/sip-server.ts'

const failures = 3
const packets = 20

describe.skipIf(lacksKamailio)(`an edge${lacksKamailio}`, () => {
  const town = useSipTown({ FAILURES_PER_MINUTE: failures, FLOOD_PACKETS: packets })

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  let addresses = 20
  const newAddress = () => {
    addresses += 1
    return `127.0.0.${addresses}`
  }

  const phoneAt = async (address: string, name: string, more: { password?: string; realm?: string } = {}) => {
    const username = `${name}-${freshToken()}`
    const facts = {
      edgePort: town.edge.port,
      realm,
      username,
      password: passwordOf(username),
      address,
      ...more,
    }
    return town.keep(await openPhone(facts))
  }

  const registeredAt = async (address: string, name: string) => {
    const phone = await phoneAt(address, name)
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    return phone
  }

  /** A carrier that may call a number, which rings a new phone. */
  const carrierAt = async (address: string) => {
    const number = town.newNumber()
    const { phone: called, username } = await town.newPhone('called')
    town.server.rings(number, [username], realm)
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    const carrier = await phoneAt(address, 'carrier', { realm: 'carrier.invalid' })
    let calls = 0
    const call = async () => {
      calls += 1
      const calling = carrier.call(number)
      const invite = await called.comesIn('INVITE', calls)
      called.answer(invite, { status: 486, phrase: 'Busy Here' }, `called-${calls}`)
      return outcomeOf(await calling)
    }
    return { number, carrier, called, call }
  }

  const challengeOf = async (phone: Phone) => {
    const challenged = await phone.registerAs({})
    expect(challenged.status).toBe(401)
    return headerOf(challenged, 'www-authenticate') ?? ''
  }

  /** Guesses a password with a nonce that another address got. */
  const guessAt = async (address: string) => {
    const [own, spoofed] = [
      await phoneAt(newAddress(), 'guesser', { password: '' }),
      await phoneAt(address, 'guesser', { password: '' }),
    ]
    const digest = digestOf(await challengeOf(own), 'REGISTER', `sip:${realm}`, {
      username: 'ada',
      password: 'guess',
    })
    return outcomeOf(await spoofed.registerAs({ headers: [['Authorization', digest]] }))
  }

  const minute = () => Math.floor(Date.now() / 60_000)

  /** Failures count by clock minute. */
  const inOneMinute = async <T>(attempt: () => Promise<T>): Promise<T> => {
    const began = minute()
    const result = await attempt()
    return began === minute() ? result : inOneMinute(attempt)
  }

  const flood = (phone: Phone, number: string) => {
    const request = { method: 'OPTIONS', uri: `sip:${number}@${realm}`, to: `<sip:${number}@${realm}>` }
    for (let sent = 0; sent < 8 * packets; sent += 1)
      phone.sendRequest({ ...request, callId: freshToken(), fromTag: freshToken() }, 1, [])
  }

  /** More packets under an address than it may send, just before and while `act` runs. */
  const inFloodAt = async <T>(address: string, act: () => Promise<T>, number = '100'): Promise<T> => {
    const attacker = await phoneAt(address, 'attacker')
    flood(attacker, number)
    const timer = setInterval(() => flood(attacker, number), 200)
    try {
      return await act()
    } finally {
      clearInterval(timer)
    }
  }

  it('takes a nonce only from the address that got it', async () => {
    const username = `ada-${freshToken()}`
    const facts = { edgePort: town.edge.port, realm, username }
    const phone = town.keep(await openPhone({ ...facts, address: newAddress() }))
    const other = town.keep(await openPhone({ ...facts, address: newAddress() }))
    const who = { username, password: passwordOf(username) }
    const digest = digestOf(await challengeOf(phone), 'REGISTER', `sip:${realm}`, who)
    const final = await other.registerAs({ headers: [['Authorization', digest]] })
    expect(outcomeOf(final)).toBe('401 Unauthorized')
    expect(headerOf(final, 'www-authenticate')).toContain('stale=true')
  })

  it('sends nothing to an address that responses to no call come from', async () => {
    const forger = await phoneAt(newAddress(), 'forger')
    const callId = freshToken()
    for (const tag of ['first', 'second'])
      forger.send(
        writeMessage('SIP/2.0 200 OK', [
          ['Via', `SIP/2.0/UDP 127.0.0.1:${town.edge.port};branch=z9hG4bKabcd.0123.0`],
          ['From', `<sip:ada@${realm}>;tag=adas`],
          ['To', `<sip:100@${realm}>;tag=${tag}`],
          ['Call-ID', callId],
          ['CSeq', '1 INVITE'],
          ['Contact', forger.contact],
        ]),
      )
    await sleep(1500)
    expect(forger.received).toEqual([])
  })

  it('does not count guesses against an address under which others send them', async () => {
    const [office, carrier] = [newAddress(), newAddress()]
    const phone = await registeredAt(office, 'ada')
    const { call } = await carrierAt(carrier)
    expect(await call()).toBe('486 Busy Here')
    for (const address of [office, carrier, newAddress()])
      for (let guess = 0; guess <= failures; guess += 1)
        expect(await guessAt(address)).toBe('401 Unauthorized')
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    expect(await call()).toBe('486 Busy Here')
  })

  it('stops one phone with a wrong password, and no other phone of its office', async () => {
    const office = newAddress()
    const phone = await registeredAt(office, 'ada')
    const stopped = await inOneMinute(async () => {
      const wrong = await phoneAt(office, 'eve', { password: 'wrong' })
      const outcomes: string[] = []
      for (let guess = 0; guess <= failures; guess += 1) outcomes.push(outcomeOf(await wrong.register()))
      return { outcomes, after: await wrong.register() }
    })
    expect(stopped.outcomes).toEqual(Array(failures + 1).fill('403 Forbidden'))
    expect(outcomeOf(stopped.after)).toBe('503 Service Unavailable')
    expect(Number(headerOf(stopped.after, 'retry-after'))).toBeGreaterThan(0)
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    await registeredAt(office, 'bob')
  })

  it('bounds guesses with many user names from an office, and serves its registered phones', async () => {
    const office = newAddress()
    const phone = await registeredAt(office, 'ada')
    const stopped = await inOneMinute(async () => {
      for (let guess = 0; guess <= 10 * failures; guess += 1)
        await (await phoneAt(office, 'eve', { password: 'wrong' })).register()
      return (await phoneAt(office, 'bob')).register()
    })
    expect(outcomeOf(stopped)).toBe('503 Service Unavailable')
    expect(outcomeOf(await phone.register())).toBe('200 OK')
  })

  it('serves registered phones, calls and carriers while others flood it under their address', async () => {
    const [office, carrier] = [newAddress(), newAddress()]
    const [ada, bob] = [await registeredAt(office, 'ada'), await registeredAt(office, 'bob')]
    const number = town.newNumber()
    town.server.rings(number, [/sip:([^@]+)/.exec(bob.contact)?.[1] ?? ''], realm)
    const calling = ada.call(number)
    bob.answer(await bob.comesIn('INVITE'), {}, 'bobs')
    const answered = await calling
    expect(outcomeOf(answered)).toBe('200 OK')
    const { call } = await carrierAt(carrier)
    expect(await call()).toBe('486 Busy Here')
    await inFloodAt(office, async () => {
      expect(outcomeOf(await ada.register())).toBe('200 OK')
      expect(outcomeOf(await ada.within(answered, 'BYE'))).toBe('200 OK')
    })
    await inFloodAt(carrier, async () => expect(await call()).toBe('486 Busy Here'))
  })

  it('serves a carrier that has not called before in a flood under its address', async () => {
    const address = newAddress()
    const { number, carrier, called } = await carrierAt(address)
    const call = { uri: `sip:${number}@${realm}`, to: `<sip:${number}@${realm}>` }
    const act = () => {
      const { text } = carrier.sendRequest(
        { method: 'INVITE', ...call, callId: freshToken(), fromTag: freshToken() },
        1,
        [],
      )
      // Repeated, as carriers do.
      return eventually(
        () => {
          carrier.send(text)
          return called.received.find(({ method }) => method === 'INVITE')
        },
        (invite) => invite !== undefined,
      )
    }
    const invite = await inFloodAt(address, act, number)
    if (invite) called.answer(invite, { status: 486, phrase: 'Busy Here' }, 'called')
  })

  it('asks other phones of a flooded office to come back, each after another time', async () => {
    const office = newAddress()
    await registeredAt(office, 'ada')
    const phones = await Promise.all(Array.from({ length: 10 }, () => phoneAt(office, 'new')))
    const answers = await inFloodAt(office, () => Promise.all(phones.map((phone) => phone.register())))
    expect(answers.map(outcomeOf)).toEqual(Array(10).fill('503 Service Unavailable'))
    const waits = answers.map((answer) => Number(headerOf(answer, 'retry-after')))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(10)
    expect(Math.max(...waits)).toBeLessThan(40)
    expect(new Set(waits).size).toBeGreaterThan(1)
  })
})

const phoneCount = countOf(60, 120)

it.skipIf(lacksKamailio)(
  `${phoneCount} phones of one office register within a minute after a power cut${lacksKamailio}`,
  { timeout: 300_000 },
  async () => {
    const place = await openSipPlace()
    const edge = await edgeOf(place)
    const phones: Phone[] = []
    onTestFinished(async () => {
      for (const phone of phones) phone.close()
      await edge.end()
      place.session.close()
      await place.server.end()
      removeDataDir(place.server)
    })
    const account = await makeAccount(place)
    expect(await place.session.admin.post(`${account.path}/rate_limits`, standardSystemLimits)).toSucceed()
    for (let made = 0; made < phoneCount; made += 1)
      phones.push((await makePhone(place, edge, account, { username: `phone-${made}` })).phone)

    /** Registers like a phone: waits for Retry-After. Returns the waited seconds. */
    const registers = async (phone: Phone, waited = 0): Promise<number> => {
      const final = await phone.register()
      if (final.status !== 429) {
        expect(outcomeOf(final)).toBe('200 OK')
        return waited
      }
      const seconds = Number(headerOf(final, 'retry-after'))
      await sleep(seconds * 1000)
      return registers(phone, waited + seconds)
    }
    const waits = await Promise.all(phones.map((phone) => registers(phone)))
    expect(Math.max(...waits)).toBeLessThan(60)
    expect(edge.complaints()).toEqual([])
  },
)
