// The files of ops/kamailio, and `values.cfg` with the values of this host.
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join, resolve } from 'node:path'
import { randomHex } from '../lib/ids.ts'
import { Refusal } from '../storage/saved-store.ts'
import { makeSqliteFile } from '../storage/sqlite-open.ts'
import { print } from './output.ts'

const templates = new URL('../../ops/kamailio/', import.meta.url)

const copied = [
  'kamailio.cfg',
  'modules.cfg',
  'admission.cfg',
  'registrar.cfg',
  'calls.cfg',
  'records.cfg',
  'rpc.cfg',
] as const

const valuesFile = 'values.cfg'
const unitFile = 'crosspoint.conf'
const emptyFile = 'empty.db'

// The paths of the templates.
const usualFolder = '/etc/kamailio/crosspoint'
const usualState = '/var/lib/kamailio'

export const edgeFiles: readonly string[] = [...copied, valuesFile, unitFile, emptyFile]

/** Text, number, or a define without a value. */
type Value = string | number | true

export interface EdgeValues {
  /** `proto:address:port`, optionally with a public address: `udp:10.0.0.5:5060 advertise 203.0.113.7:5060`. */
  listeners: readonly string[]
  /** By the names of `values.cfg`. */
  values: Readonly<Record<string, Value>>
  /** `address:port` for requests of the server. */
  requestsAt: string
  /** For registrations, calls and reports. */
  stateDirectory: string
}

// Kamailio strings end at a quote, know escapes, and expand dollars.
const isPlain = (text: string) => /^[\x20-\x7e]*$/.test(text) && !/["\\$]/.test(text)

const written = (name: string, value: Value) => {
  if (value === true) return `#!define ${name}`
  if (typeof value === 'number') return `#!define ${name} ${value}`
  if (!isPlain(value)) throw new Refusal(`${name} contains characters that Kamailio interprets`)
  return `#!define ${name} "${value}"`
}

const withValue = (text: string, name: string, value: Value) => {
  const line = new RegExp(`^#{1,2}!define ${name}\\b.*$`, 'm')
  if (!line.test(text)) throw new Error(`values.cfg has no ${name}`)
  return text.replace(line, () => written(name, value))
}

/** Replaces the listeners of the template, except the one for requests. */
const withListeners = (text: string, listeners: readonly string[]) => {
  const usual = /^(?:listen=(?:udp|tcp):127\.0\.0\.1:5060\n)+/m
  return text.replace(usual, () => listeners.map((one) => `listen=${one}\n`).join(''))
}

const templateOf = (name: string) => readFileSync(new URL(name, templates), 'utf8')

const renderedValues = ({ listeners, requestsAt, values, stateDirectory }: EdgeValues): string =>
  Object.entries(values).reduce(
    (text, [name, value]) => withValue(text, name, value),
    withListeners(templateOf(valuesFile), listeners)
      .replace(usualState, () => stateDirectory)
      .replace(/^listen=tcp:127\.0\.0\.1:5080$/m, () => `listen=tcp:${requestsAt}`),
  )

interface Place {
  folder: string
  /** Overwrite existing files. */
  isForced: boolean
  /** The user of Kamailio, if another one. */
  owner: { uid: number; gid: number } | undefined
}

/** Readable only by the owner from the beginning. */
const writeSecret = (file: string, text: string, owner: Place['owner']) => {
  rmSync(file, { force: true })
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' })
  if (owner) chownSync(file, owner.uid, owner.gid)
}

const writeEmpty = (file: string) => {
  rmSync(file, { force: true })
  makeSqliteFile(file, templateOf('tables.sql'))
}

export const writeEdgeFiles = ({ folder, isForced, owner }: Place, values: EdgeValues) => {
  const rendered = renderedValues(values)
  const there = edgeFiles.filter((name) => existsSync(join(folder, name)))
  if (there.length > 0 && !isForced)
    throw new Refusal(
      `nothing was written: ${folder} already contains ${there.join(', ')}. Use --force to overwrite them`,
    )
  mkdirSync(folder, { recursive: true })
  for (const name of copied) writeFileSync(join(folder, name), templateOf(name))
  writeSecret(join(folder, valuesFile), rendered, owner)
  const unit = templateOf(unitFile)
    .replaceAll(usualFolder, () => folder)
    .replaceAll(usualState, () => values.stateDirectory)
  writeFileSync(join(folder, unitFile), unit)
  writeEmpty(join(folder, emptyFile))
}

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

const ownAddress = () =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

const keyOf = ({ key, keyFile }: EdgeOptions) => {
  const given = keyFile === undefined ? key : readFileSync(keyFile, 'utf8').trim()
  if (given === undefined || given === '')
    throw new Refusal('an API key of the master account is missing: --key-file FILE or --key KEY')
  return given
}

const listenersOf = ({ address, advertise, port, tls, websocket }: EdgeOptions) => {
  const own = address ?? ownAddress()
  if (own === undefined)
    throw new Refusal(
      'this machine has no address that other machines can reach: set one with --address ADDRESS',
    )
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

/** Debian runs Kamailio as this user. Only root can give files away. */
const ownerOf = () => {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${ownerName}:`))?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

export const writeKamailio = async (options: EdgeOptions) => {
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
    ? `owned by ${ownerName}`
    : `owned by you; Kamailio needs the owner ${ownerName}: chown ${ownerName}: ${folder}/values.cfg`
  const text = json
    ? JSON.stringify(facts)
    : `${folder}: ${edgeFiles.length} files; requests at ${rpcUrl}, with the secret in values.cfg, ${ownership}`
  print(text)
}
