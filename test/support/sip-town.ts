// A SIP edge, a stand-in for the server that it asks, and phones that register there.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { sharedBySuite } from './databases.ts'
import { outcomeOf } from './edge-messages.ts'
import { openPhone, type Phone } from './edge-phone.ts'
import { type EdgeFacts, startSipEdge } from './sip-edge.ts'
import { passwordOf, startSipServer } from './sip-server.ts'

export const realm = 'acme.test'

type Values = NonNullable<EdgeFacts['values']>

const openSipTown = async (values: Values) => {
  const server = await startSipServer()
  const edge = await startSipEdge({ server: server.url, key: 'key-of-the-tests', values })
  const phones: Phone[] = []
  let numbers = 0

  const keep = (phone: Phone) => {
    phones.push(phone)
    return phone
  }

  return {
    server,
    edge,
    /** Closes it when the tests are over. */
    keep,

    /** A phone of a new device, registered. */
    async newPhone(name: string, of = realm) {
      const username = `${name}-${randomUUID().slice(0, 8)}`
      const facts = { edgePort: edge.port, realm: of, username, password: passwordOf(username) }
      const phone = keep(await openPhone(facts))
      expect(outcomeOf(await phone.register())).toBe('200 OK')
      return { phone, username }
    },

    newNumber() {
      numbers += 1
      return `+1415555${1000 + numbers}`
    },

    async close() {
      for (const phone of phones) phone.close()
      await edge.end()
      await server.close()
    },
  }
}

/** Opened once for the tests of a suite. */
export const useSipTown = (values: Values = {}) =>
  sharedBySuite(
    () => openSipTown(values),
    (town) => town.close(),
  )
