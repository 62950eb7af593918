// The proxies whose configurations are shipped in ops/proxy, as Debian packages them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'
import { findProgram } from './installed.ts'
import { getSecurely, shipped } from './tls.ts'

const configurations = new URL('../../../ops/proxy/', import.meta.url)

export type ProxyName = 'haproxy' | 'nginx' | 'caddy'

interface Place {
  folder: string
  port: number
  plainPort: number
  servers: readonly number[]
}

/** Replaces a text that has to be there. */
const replace = (text: string, from: string, to: string) => {
  if (!text.includes(from)) throw new Error(`the configuration says no '${from}'`)
  return text.replace(from, to)
}

const addressed = (file: string, servers: readonly number[]) =>
  servers.reduce(
    (text, port, index) => replace(text, `10.0.0.${11 + index}:8000`, `127.0.0.1:${port}`),
    readFileSync(new URL(file, configurations), 'utf8'),
  )

/** The shipped configuration with this machine's addresses and certificate, and how the program is started with it. */
const commands: Readonly<Record<ProxyName, (place: Place) => { text: string; args: string[] }>> = {
  haproxy({ folder, port, plainPort, servers }) {
    const pem = ['first.cert.pem', 'first.key.pem'].map((name) => readFileSync(shipped(name), 'utf8'))
    writeFileSync(join(folder, 'crosspoint.pem'), pem.join('\n'))
    let text = replace(addressed('haproxy.cfg', servers), 'bind :80', `bind 127.0.0.1:${plainPort}`)
    text = replace(text, 'bind :443', `bind 127.0.0.1:${port}`)
    text = replace(text, '/etc/haproxy/crosspoint.pem', join(folder, 'crosspoint.pem'))
    return { text, args: ['-db', '-f', join(folder, 'configuration')] }
  },
  nginx({ folder, port, plainPort, servers }) {
    let text = replace(addressed('nginx.conf', servers), 'listen 80', `listen 127.0.0.1:${plainPort}`)
    text = replace(text, 'listen 443', `listen 127.0.0.1:${port}`)
    text = replace(text, '/etc/nginx/crosspoint.cert.pem', shipped('first.cert.pem'))
    text = replace(text, '/etc/nginx/crosspoint.key.pem', shipped('first.key.pem'))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${join(folder, kind)};`,
    )
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const frame = `daemon off; ${user} pid ${join(folder, 'pid')}; error_log stderr; events {}`
    return {
      text: `${frame}\nhttp { access_log off; ${temporary.join(' ')}\n${text}\n}\n`,
      args: ['-e', 'stderr', '-p', folder, '-c', join(folder, 'configuration')],
    }
  },
  caddy({ folder, port, plainPort, servers }) {
    const certificate = `tls ${shipped('first.cert.pem')} ${shipped('first.key.pem')}`
    const site = `https://127.0.0.1:${port} {\n\t${certificate}`
    const text = replace(addressed('Caddyfile', servers), 'crosspoint.example.com {', site)
    const options = `{\n\tadmin off\n\thttp_port ${plainPort}\n\tdefault_bind 127.0.0.1\n\tstorage file_system ${folder}\n}\n`
    return {
      text: options + text,
      args: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'configuration')],
    }
  },
}

/** Starts a program with its configuration, and waits until it `passesOn` what it is asked. */
const run = async (
  name: ProxyName,
  folder: string,
  { text, args }: { text: string; args: string[] },
  passesOn: () => Promise<boolean>,
) => {
  const program = findProgram(name)
  if (!program) throw new Error(`this machine has no ${name}`)
  writeFileSync(join(folder, 'configuration'), text)
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      said += piece
    })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    if (!hasEnded()) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await eventually(
      () => hasEnded() || passesOn(),
      (isDone) => isDone,
    )
    if (hasEnded()) throw new Error(`${name} ended:\n${said}`)
  } catch (error) {
    await stop()
    throw error
  }
  return { stop }
}

const makeFolder = (name: ProxyName) => mkdtempSync(join(tmpdir(), `crosspoint-${name}-`))

/** Starts a proxy in front of four servers on this machine, and waits until it passes on what it is asked over TLS. */
export const startProxy = async (name: ProxyName, servers: readonly number[]) => {
  const folder = makeFolder(name)
  const port = await freePort()
  const command = commands[name]({ folder, port, plainPort: await freePort(), servers })
  const passesOn = () =>
    getSecurely(port).then(
      ({ status }) => status === 200,
      () => false,
    )
  return { port, ...(await run(name, folder, command, passesOn)) }
}

interface DatabaseNode {
  port: number
  /** Address at which Patroni reports its role. */
  apiPort: number
}

/** HAProxy with the shipped configuration, in front of the databases of Patroni. */
export const startDatabaseProxy = async (
  nodes: readonly DatabaseNode[],
  passesOn: (port: number) => Promise<boolean>,
) => {
  const folder = makeFolder('haproxy')
  const port = await freePort()
  const shippedText = readFileSync(new URL('haproxy-postgres.cfg', configurations), 'utf8')
  const text = nodes.reduce(
    (before, node, index) =>
      replace(
        before,
        `10.0.0.${21 + index}:5432 check port 8008`,
        `127.0.0.1:${node.port} check port ${node.apiPort}`,
      ),
    replace(shippedText, 'bind :5432', `bind 127.0.0.1:${port}`),
  )
  const args = ['-db', '-f', join(folder, 'configuration')]
  return { port, ...(await run('haproxy', folder, { text, args }, () => passesOn(port))) }
}
