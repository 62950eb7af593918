import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { randomHex } from '../lib/ids.ts'
import { Refusal } from '../storage/saved-store.ts'
import { type EdgeValues, edgeFiles, writeEdgeFiles } from './edge-files.ts'
import { printingRefusals } from './refusals.ts'
import { status } from './statuses.ts'

interface EdgeOptions {
  write: string
  server: string
  key?: string
  keyFile?: string
  address?: string
  advertise?: string
  port: number
  tls?: [certificate: string, key: string]
  websocket?: number
  websocketOrigins: string
  rpcAddress: string
  rpcPort: number
  rpcNetworks: string
  rpcSecret?: string
  topologyKey?: string
  outageMinutes: number
  stateDirectory: string
  force?: boolean
  json?: boolean
}

/** The first address by which others reach this machine. */
const ownAddress = () =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

const keyOf = ({ key, keyFile }: EdgeOptions) => {
  const given = keyFile === undefined ? key : readFileSync(keyFile, 'utf8').trim()
  if (given === undefined || given === '')
    throw new Refusal('an API key of the master account is wanted: --key-file FILE or --key KEY')
  return given
}

const listenersOf = ({ address, advertise, port, tls, websocket }: EdgeOptions) => {
  const own = address ?? ownAddress()
  if (own === undefined) throw new Refusal('this machine has no address that others reach: --address ADDRESS')
  const listener = (protocol: string, at: number) =>
    `${protocol}:${own}:${at}${advertise === undefined ? '' : ` advertise ${advertise}:${at}`}`
  return [
    listener('udp', port),
    listener('tcp', port),
    ...(tls ? [listener('tls', port + 1)] : []),
    ...(websocket === undefined ? [] : [listener(tls ? 'tls' : 'tcp', websocket)]),
  ]
}

const valuesOf = (options: EdgeOptions): EdgeValues => {
  const { tls, websocket } = options
  return {
    listeners: listenersOf(options),
    requestsAt: `${options.rpcAddress}:${options.rpcPort}`,
    stateDirectory: options.stateDirectory,
    values: {
      SERVER_URL: options.server.replace(/\/+$/, ''),
      SERVER_KEY: keyOf(options),
      OUTAGE_S: options.outageMinutes * 60,
      RPC_PORT: options.rpcPort,
      RPC_NETWORKS: options.rpcNetworks,
      RPC_SECRET: options.rpcSecret ?? randomHex(24),
      TOPOLOGY_KEY: options.topologyKey ?? randomHex(24),
      ...(tls ? { WITH_TLS: true, TLS_CERTIFICATE: tls[0], TLS_KEY: tls[1] } : {}),
      ...(websocket === undefined ? {} : { WITH_WEBSOCKET: true, WEBSOCKET_PORT: websocket }),
      WEBSOCKET_ORIGINS: options.websocketOrigins,
    },
  }
}

const ownerName = 'kamailio'

/** Debian's unit reads the files as this user. Only root can give files away. */
const ownerOf = () => {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${ownerName}:`))?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/** Writes the files of an edge; answers with the status. */
export const writeKamailio = (options: EdgeOptions): Promise<number> =>
  printingRefusals(async () => {
    const owner = ownerOf()
    const { force = false, json } = options
    const folder = resolve(options.write)
    const values = valuesOf(options)
    writeEdgeFiles({ folder, isForced: force, owner }, values)
    const rpcUrl = `http://${options.rpcAddress}:${options.rpcPort}/RPC`
    const facts = {
      folder,
      files: edgeFiles,
      owner: owner ? ownerName : null,
      needs_owner: ownerName,
      rpc_url: rpcUrl,
    }
    const ownership = owner
      ? `which belongs to ${ownerName}`
      : `which belongs to you and must belong to ${ownerName}: chown ${ownerName}: ${folder}/values.cfg`
    const text = json
      ? JSON.stringify(facts)
      : `${folder}: ${edgeFiles.length} files; requests at ${rpcUrl}, with the secret in values.cfg, ${ownership}`
    process.stdout.write(`${text}\n`)
    return status.done
  })
