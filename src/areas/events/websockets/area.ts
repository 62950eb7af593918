import { area } from '../../area.ts'
import { createDirectory } from './operations.ts'
import { websocketRoutes } from './routes.ts'
import { createWebSocketServer } from './server.ts'
import { websocketSettings } from './settings.ts'

export const websocketsArea = area({
  name: 'websockets',
  describes: { websockets: 'Events over WebSocket: subscriptions and connections.' },
  settings: [websocketSettings],
  create(tools) {
    const directory = createDirectory(tools)
    const server = createWebSocketServer({ ...tools, directory })
    return {
      routes: websocketRoutes(directory),
      upgrades: [server.upgrade],
      jobs: [directory.tidy],
      async stop() {
        await server.stop()
        await directory.stop()
      },
    }
  },
})
