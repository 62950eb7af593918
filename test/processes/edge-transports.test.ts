// An edge over TLS and WebSocket, and the command that sets it up.
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { edgeFiles } from '../../src/commands/edge.ts'
import {
  digestOf,
  headerOf,
  readMessage,
  type SipMessage,
  writeMessage,
} from '../support/phones/edge-messages.ts'
import { runHere } from '../support/run/command-here.ts'
import { openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { nodeOptions, program } from '../support/run/program.ts'
import { freePort } from '../support/servers/free-port.ts'
import { findProgram } from '../support/servers/installed.ts'
import { lacksKamailio, type SipEdge, startSipEdge } from '../support/servers/sip-edge.ts'
import { passwordOf, type SipServer, startSipServer } from '../support/servers/sip-server.ts'
import { shipped } from '../support/servers/tls.ts'

// Only root can give a process a separate file system.
const lacksOwnMounts =
  spawnSync('unshare', ['--mount', 'true']).status === 0 ? '' : ' (needs unshare --mount)'

const optionsOver = (transport: string) =>
  writeMessage('OPTIONS sip:edge.test SIP/2.0', [
    ['Via', `SIP/2.0/${transport} tester.invalid;branch=z9hG4bKping;rport`],
    ['Max-Forwards', '70'],
    ['From', '<sip:bob@acme.test>;tag=1'],
    ['To', '<sip:edge.test>'],
    ['Call-ID', 'ping-of-the-tests'],
    ['CSeq', '1 OPTIONS'],
  ])

describe.skipIf(lacksKamailio)(`an edge${lacksKamailio}`, () => {
  let server: SipServer
  let edge: SipEdge
  let [tlsPort, webPort] = [0, 0]

  beforeAll(async () => {
    server = await startSipServer()
    ;[tlsPort, webPort] = [await freePort(), await freePort()]
    edge = await startSipEdge({
      server: server.url,
      key: 'key-of-the-tests',
      listeners: [`tls:127.0.0.1:${tlsPort}`, `tcp:127.0.0.1:${webPort}`],
      values: {
        WITH_TLS: true,
        TLS_CERTIFICATE: shipped('first.cert.pem'),
        TLS_KEY: shipped('first.key.pem'),
        WITH_WEBSOCKET: true,
        WEBSOCKET_PORT: webPort,
        WEBSOCKET_ORIGINS: 'https://phone.example.com,https://crm.example.com:8443',
      },
    })
  })

  afterAll(async () => {
    await edge.end()
    await server.close()
  })

  it('answers over TLS', async () => {
    const ca = readFileSync(shipped('first.cert.pem'))
    const socket = connect({ host: '127.0.0.1', port: tlsPort, ca, checkServerIdentity: () => undefined })
    await once(socket, 'secureConnect')
    socket.write(optionsOver('TLS'))
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^SIP\/2\.0 200 OK\r\n/)
    socket.destroy()
  })

  it('registers a browser over WebSocket', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${webPort}/ws`, 'sip')
    const heard: SipMessage[] = []
    socket.on('message', (bytes) => heard.push(readMessage(String(bytes))))
    await once(socket, 'open')
    const register = async (sequence: number, more: [string, string][] = []) => {
      socket.send(
        writeMessage('REGISTER sip:acme.test SIP/2.0', [
          ['Via', `SIP/2.0/WS tester.invalid;branch=z9hG4bKweb${sequence};rport`],
          ['Max-Forwards', '70'],
          ['From', '<sip:web@acme.test>;tag=1'],
          ['To', '<sip:web@acme.test>'],
          ['Call-ID', 'web-of-the-tests'],
          ['CSeq', `${sequence} REGISTER`],
          ['Contact', '<sip:web@tester.invalid;transport=ws>'],
          ['Expires', '300'],
          ...more,
        ]),
      )
      const all = await eventually(
        () => heard.filter((one) => headerOf(one, 'cseq') === `${sequence} REGISTER` && one.status >= 200),
        (found) => found.length > 0,
      )
      return all[0] as SipMessage
    }
    const challenge = headerOf(await register(1), 'www-authenticate') ?? ''
    const who = { username: 'web', password: passwordOf('web') }
    const proof = digestOf(challenge, 'REGISTER', 'sip:acme.test', who)
    expect((await register(2, [['Authorization', proof]])).status).toBe(200)
    const { body } = await edge.rpc('ul.lookup', ['location', 'web@acme.test'])
    expect(body.result.Contacts[0].Contact.Received).toMatch(/^sip:127\.0\.0\.1:\d+;transport=ws$/)
    socket.close()
    await once(socket, 'close')
  })

  it('accepts WebSockets of the pages that the setting lists, and of clients that are no page', async () => {
    const connectFrom = async (headers: Record<string, string>) => {
      const socket = new WebSocket(`ws://127.0.0.1:${webPort}/ws`, 'sip', { headers })
      const answered = await Promise.race([
        once(socket, 'open').then(() => 101),
        once(socket, 'unexpected-response').then(([, response]) => response.statusCode),
      ])
      socket.on('error', () => undefined)
      socket.terminate()
      return answered
    }
    const origins = [
      ['https://phone.example.com', 101],
      ['https://crm.example.com:8443', 101],
      ['https://crm.example.com', 403],
      ['http://phone.example.com', 403],
      ['https://phone.example.com.evil.test', 403],
      ['null', 403],
    ] as const
    for (const [origin, status] of origins)
      expect([origin, await connectFrom({ origin })]).toEqual([origin, status])
    expect(await connectFrom({})).toBe(101)
  })

  it('speaks WebSocket at its listener alone, and nothing else there', async () => {
    const status = (port: number) => fetch(`http://127.0.0.1:${port}/ws`).then((answer) => answer.status)
    expect([await status(webPort), await status(edge.rpcPort)]).toEqual([404, 404])
    expect(edge.complaints()).toEqual([])
  })
})

describe('crosspoint edge kamailio', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'crosspoint-edge-command-'))
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const words = (directory: string) => [
    ...['edge', 'kamailio', '--write', join(folder, directory)],
    ...['--key', 'a-key', '--address', '192.0.2.5'],
  ]
  const write = (directory: string, ...more: string[]) => runHere({}, [...words(directory), ...more])

  it('writes all files of an edge, the secrets for their owner alone', async () => {
    const person = openCommandLine()
    const args = [...words('first'), '--server', 'https://api.example.com/', '--json']
    const { status, output } = await person.run(...args)
    person.remove()
    expect(status).toBe(0)
    const place = join(folder, 'first')
    expect(JSON.parse(output)).toEqual({
      folder: place,
      files: [...edgeFiles],
      owner: expect.toSatisfy((owner) => owner === null || owner === 'kamailio'),
      needs_owner: 'kamailio',
      rpc_url: 'http://127.0.0.1:5080/RPC',
    })
    expect(readdirSync(place).toSorted()).toEqual([...edgeFiles].toSorted())
    expect(statSync(join(place, 'values.cfg')).mode & 0o777).toBe(0o600)
    const values = readFileSync(join(place, 'values.cfg'), 'utf8')
    expect(values).toContain('#!define SERVER_URL "https://api.example.com"\n#!define SERVER_KEY "a-key"\n')
    expect(values).toContain('\nlisten=udp:192.0.2.5:5060\nlisten=tcp:192.0.2.5:5060\n')
    expect(values).not.toMatch(/_(?:SECRET|KEY) "none"/)
    expect(readFileSync(join(place, 'crosspoint.conf'), 'utf8')).toContain(`CFGFILE=${place}/kamailio.cfg`)
    expect(output).not.toContain('a-key')
  })

  it.skipIf(lacksOwnMounts)(
    `states the owner that the secrets need before Kamailio is installed${lacksOwnMounts}`,
    () => {
      const place = join(folder, 'early')
      const users = join(folder, 'users')
      writeFileSync(users, readFileSync('/etc/passwd', 'utf8').replace(/^kamailio:.*\n/m, ''))
      const command = ['mount', '--bind', users, '/etc/passwd', '&&', 'exec', process.execPath, program]
      const env = { ...process.env, NODE_OPTIONS: nodeOptions('') }
      const script = [...command, ...words('early')].join(' ')
      const output = execFileSync('unshare', ['--mount', 'sh', '-c', script], { env, encoding: 'utf8' })
      expect(output).toBe(
        `${place}: 10 files; requests at http://127.0.0.1:5080/RPC, with the secret in values.cfg, owned by you; Kamailio needs the owner kamailio: chown kamailio: ${place}/values.cfg\n`,
      )
      expect(readFileSync(join(place, 'values.cfg'), 'utf8')).toContain('chown kamailio: values.cfg')
    },
  )

  it('refuses origins that no page has', async () => {
    const odd = await write('odd', '--websocket', '8089', '--websocket-origins', 'https://phone.example.com/')
    expect([odd.status, odd.errors]).toEqual([
      2,
      expect.stringContaining('Write origins as https://phone.example.com, separated by commas.'),
    ])
    expect(existsSync(join(folder, 'odd'))).toBe(false)
  })

  it('overwrites no existing files without --force', async () => {
    await write('second')
    const file = join(folder, 'second/values.cfg')
    const before = readFileSync(file, 'utf8')
    const refused = await write('second', '--server', 'http://elsewhere.example')
    expect([refused.status, refused.errors]).toEqual([1, expect.stringContaining('nothing was written: ')])
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect((await write('second', '--server', 'http://elsewhere.example', '--force')).status).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('#!define SERVER_URL "http://elsewhere.example"')
  })

  it('refuses what Kamailio would read as something else, and a call without a key', async () => {
    const odd = await write('third', '--rpc-secret', 'a"$b')
    expect([odd.status, odd.errors]).toEqual([
      1,
      'crosspoint: RPC_SECRET contains characters that Kamailio interprets\n',
    ])
    const keyless = await runHere({}, ['edge', 'kamailio', '--write', join(folder, 'third')])
    expect([keyless.status, keyless.errors]).toEqual([
      1,
      'crosspoint: an API key of the master account is missing: --key-file FILE or --key KEY\n',
    ])
    expect(existsSync(join(folder, 'third'))).toBe(false)
  })

  it.skipIf(lacksKamailio)(
    `writes what Kamailio takes, with everything switched on${lacksKamailio}`,
    async () => {
      const tls = `${shipped('first.cert.pem')},${shipped('first.key.pem')}`
      await write('fourth', '--tls', tls, '--websocket', '8089', '--advertise', '203.0.113.7')
      const checked = join(folder, 'fourth/kamailio.cfg')
      // Kamailio cannot listen at an address that this machine does not have.
      const values = readFileSync(join(folder, 'fourth/values.cfg'), 'utf8')
      expect(values).toContain('listen=tls:192.0.2.5:8089 advertise 203.0.113.7:8089\n')
      expect(() =>
        execFileSync(findProgram('kamailio') ?? '', ['-M', '16', '-c', '-f', checked], { stdio: 'pipe' }),
      ).not.toThrow()
    },
  )
})
