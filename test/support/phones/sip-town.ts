// A SIP edge, a fake server for its requests, and phones that register at the edge.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { sharedBySuite } from '../servers/databases.ts'
import { freePort } from '../servers/free-port.ts'
import { type EdgeFacts, startSipEdge } from '../servers/sip-edge.ts'
import { passwordOf, startSipServer } from '../servers/sip-server.ts'
import type { Link } from './edge-link.ts'
import { outcomeOf } from './edge-messages.ts'
import { openPhone, type Phone } from './edge-phone.ts'

export const realm = 'acme.test'

type Values = NonNullable<EdgeFacts['values']>

const openSipTown = async (values: Values) => {
  const server = await startSipServer()
  const webPort = await freePort()
  const edge = await startSipEdge({
    server: server.url,
    key: 'key-of-the-tests',
    listeners: [`tcp:127.0.0.1:${webPort}`],
    values: { WITH_WEBSOCKET: true, WEBSOCKET_PORT: webPort, ...values },
  })
  const phones: Phone[] = []
  let numbers = 0

  const keep = (phone: Phone) => {
    phones.push(phone)
    return phone
  }

  return {
    server,
    edge,
    /** Where the edge accepts WebSockets. */
    webPort,
    /** Closes it when the tests are over. */
    keep,

    /** A phone of a new device, registered; over UDP if `link` is absent. */
    async newPhone(name: string, of = realm, link?: Link) {
      const username = `${name}-${randomUUID().slice(0, 8)}`
      const facts = { edgePort: edge.port, realm: of, username, password: passwordOf(username) }
      const phone = keep(await openPhone({ ...facts, ...(link && { link }) }))
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
