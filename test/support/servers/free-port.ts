// Ports for servers that must know their port before they start. A server that can bind port 0 does that instead.
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Connections that go out, and servers that bind port 0, take their ports from above.
const [firstPort, lastPort] = [10_000, 32_000]

const isFree = async (port: number) => {
  const [udp, tcp] = [createSocket('udp4'), createServer()]
  try {
    udp.bind(port, '127.0.0.1')
    await once(udp, 'listening')
    tcp.listen(port, '127.0.0.1')
    await once(tcp, 'listening')
    return true
  } catch {
    return false
  } finally {
    udp.close()
    tcp.close()
  }
}

/**
 * A port that neither of the two transports uses. It stays free until it is used: the system takes ports of other sockets from a
 * range above.
 */
export const freePort = async () => {
  for (;;) {
    const port = randomInt(firstPort, lastPort)
    if (await isFree(port)) return port
  }
}
