import { type AreaTools, createAreas } from '../areas/index.ts'
import { openApiText } from '../http/openapi.ts'
import type { Route } from '../http/route.ts'
import { version } from '../version.ts'

// Making routes only hands the parts on; none is used before a request comes.
const unused: never = new Proxy(() => unused, { get: () => unused }) as never

const tools: AreaTools = {
  store: unused,
  settings: unused,
  keyring: unused,
  tokens: unused,
  node: '',
  validate: unused,
  tlsProblems: unused,
  mail: unused,
  dns: unused,
  afterwards: unused,
  leases: unused,
  rounds: unused,
  log: unused,
  outgoing: unused,
  mediaSwitch: unused,
}

/** Every route of this server, without a server behind them. */
export const allRoutes = (): readonly Route[] => createAreas(tools).routes

export const openApiDocument = () => openApiText(allRoutes(), version)

const help =
  'Usage: crosspoint openapi\n\nPrints the OpenAPI 3.1 document that a running server has at /openapi.json.\n'

const run = async (args: readonly string[]): Promise<number> => {
  // A reader that has seen enough (`| head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.stdout.write(args.includes('--help') ? help : openApiDocument())
  return 0
}

export const openapi = { run }
