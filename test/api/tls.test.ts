import { copyFileSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { freePort } from '../support/servers/free-port.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'
import { authorities, getSecurely, shipped } from '../support/servers/tls.ts'
import { credentialsOf, describeAnyEngine, useWorld, type World } from '../support/world/world.ts'

const directory = mkdtempSync(join(tmpdir(), 'crosspoint-tls-'))

afterAll(() => rmSync(directory, { recursive: true, force: true }))

const crossbar = '/v2/system_configs/crossbar'

const subjectAt = async (port: number) => (await getSecurely(port)).subject

const isRefused = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connectPlain(port, '127.0.0.1')
      .on('connect', () => {
        socket.destroy()
        resolve(false)
      })
      .on('error', () => resolve(true))
  })

const handshake = (port: number, options: object) =>
  new Promise<string | null>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: authorities, ...options }, () => {
      resolve(socket.getProtocol())
      socket.end()
    }).on('error', reject)
  })

const usable = {
  use_ssl: true,
  ssl_port: 0,
  ssl_cert: shipped('first.cert.pem'),
  ssl_key: shipped('first.key.pem'),
}

const cleared = { use_ssl: false, ssl_cert: null, ssl_key: null, ssl_ca_cert: null, ssl_password: null }

const served = (world: World) =>
  eventually(
    () => world.server.tlsPort,
    (port) => port !== undefined,
  ) as Promise<number>

describeAnyEngine('TLS', (engine) => {
  const world = useWorld(engine)

  afterEach(async () => {
    expect(await world.operator.patch(`${crossbar}/default`, cleared)).toSucceed()
    await eventually(
      () => world.server.tlsPort,
      (port) => port === undefined,
    )
  })

  const set = (values: object) => world.operator.patch(`${crossbar}/default`, values)

  it('is served next to plain HTTP when the settings turn it on, and no longer when they turn it off', async () => {
    expect(world.server.tlsPort).toBeUndefined()
    expect(await set(usable)).toSucceed()
    const port = await served(world)
    expect(await getSecurely(port)).toEqual({ status: 200, body: 'ok\n', subject: 'first.test' })
    const unknown = JSON.parse((await getSecurely(port, `${world.acme.path}/users`)).body)
    expect(unknown).toMatchObject({ status: 'error', message: 'invalid_credentials' })
    expect((await world.ada.get(world.acme.path)).status).toBe(200)

    expect(await set({ use_ssl: false })).toSucceed()
    await eventually(
      () => isRefused(port),
      (refused) => refused,
    )
    expect((await world.ada.get(world.acme.path)).status).toBe(200)
  })

  it('takes the key with its pass phrase and never shows the phrase in a refusal', async () => {
    const locked = { ...usable, ssl_key: shipped('first.locked-key.pem') }
    const refusal = await set({ ...locked, ssl_password: 'wrong-phrase' })
    expect(refusal).toBreak({ ssl_key: ['invalid'] })
    expect(refusal.text).not.toContain('wrong-phrase')
    expect(await set(locked)).toBreak({ ssl_key: ['invalid'] })
    expect(await set({ ...locked, ssl_password: 'open-sesame' })).toSucceed()
    expect(await subjectAt(await served(world))).toBe('first.test')
  })

  it('refuses versions before 1.2', async () => {
    await set(usable)
    const port = await served(world)
    expect(await handshake(port, { maxVersion: 'TLSv1.2' })).toBe('TLSv1.2')
    expect(await handshake(port, { minVersion: 'TLSv1.3' })).toBe('TLSv1.3')
    await expect(
      handshake(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
    ).rejects.toThrow()
  })

  it('survives plain HTTP, noise and half a handshake on its port', async () => {
    await set(usable)
    const port = await served(world)
    for (const noise of ['GET / HTTP/1.1\r\nhost: x\r\n\r\n', '\x16\x03\x01\xff\xff', '\0'.repeat(5000)]) {
      await new Promise<void>((resolve) => {
        const socket = connectPlain(port, '127.0.0.1', () => socket.write(noise))
        socket.on('data', () => {}).on('error', () => {})
        socket.on('close', () => resolve())
        setTimeout(() => socket.destroy(), 200)
      })
    }
    expect(await subjectAt(port)).toBe('first.test')
  })

  it('moves to another port and leaves the old one', async () => {
    await set(usable)
    const first = await served(world)
    const free = await freePort()
    expect(await set({ ssl_port: free })).toSucceed()
    await eventually(
      () => world.server.tlsPort,
      (port) => port === free,
    )
    expect(await subjectAt(free)).toBe('first.test')
    expect(await isRefused(first)).toBe(true)
  })

  it('stays on the old port, and says so, when the new one is taken', async () => {
    await set(usable)
    const first = await served(world)
    expect(await set({ ssl_port: world.server.port })).toSucceed()
    const errors = await eventually(
      () => world.takeErrors(),
      (seen) => seen.length > 0,
    )
    expect(errors).toMatchObject([
      { message: 'HTTPS cannot be served on this port', fields: { port: world.server.port } },
    ])
    expect(await subjectAt(first)).toBe('first.test')
    expect((await world.ada.get(world.acme.path)).status).toBe(200)
  })

  it('takes a new certificate when the files change in place, and when others are moved over them', async () => {
    const files = {
      ssl_cert: join(directory, `${engine}.cert.pem`),
      ssl_key: join(directory, `${engine}.key.pem`),
    }
    const place = (name: string) => {
      copyFileSync(shipped(`${name}.key.pem`), files.ssl_key)
      copyFileSync(shipped(`${name}.cert.pem`), files.ssl_cert)
    }
    place('first')
    expect(await set({ ...usable, ...files })).toSucceed()
    const port = await served(world)
    expect(await subjectAt(port)).toBe('first.test')

    place('second')
    await eventually(
      () => subjectAt(port),
      (subject) => subject === 'second.test',
    )

    copyFileSync(shipped('first.cert.pem'), `${files.ssl_cert}.new`)
    copyFileSync(shipped('first.key.pem'), `${files.ssl_key}.new`)
    renameSync(`${files.ssl_key}.new`, files.ssl_key)
    renameSync(`${files.ssl_cert}.new`, files.ssl_cert)
    await eventually(
      () => subjectAt(port),
      (subject) => subject === 'first.test',
    )
    world.takeErrors()

    writeFileSync(files.ssl_cert, 'this is no certificate')
    const errors = await eventually(
      () => world.takeErrors(),
      (seen) => seen.length > 0,
    )
    expect(errors).toMatchObject([
      {
        message: 'the TLS settings cannot be used: HTTPS continues with the old certificate',
        fields: {
          problems: [
            {
              setting: 'ssl_cert',
              message: 'The file does not contain a PEM certificate',
              file: files.ssl_cert,
            },
          ],
        },
      },
    ])
    expect(await subjectAt(port)).toBe('first.test')
    expect(await world.operator.patch(`${crossbar}/default`, { pagination_page_size: 51 })).toSucceed()
  })

  describe('refuses', () => {
    const broken = join(directory, `broken-${engine}.pem`)
    writeFileSync(broken, 'no PEM at all')
    const link = join(directory, `nowhere-${engine}.pem`)
    symlinkSync(join(directory, 'gone'), link)

    const refusals: [string, object, Record<string, string[]>][] = [
      [
        'no certificate',
        { ssl_cert: null, ssl_key: null },
        { ssl_cert: ['required'], ssl_key: ['required'] },
      ],
      ['a certificate that is not there', { ssl_cert: '/nowhere/cert.pem' }, { ssl_cert: ['not_found'] }],
      ['a link to nowhere', { ssl_key: link }, { ssl_key: ['not_found'] }],
      ['a directory', { ssl_cert: directory }, { ssl_cert: ['invalid'] }],
      ['a device', { ssl_cert: '/dev/zero' }, { ssl_cert: ['invalid'] }],
      ['a path with a NUL', { ssl_cert: 'a\0b' }, { ssl_cert: ['invalid'] }],
      [
        'what is no PEM',
        { ssl_cert: broken, ssl_key: broken },
        { ssl_cert: ['invalid'], ssl_key: ['invalid'] },
      ],
      ['a key instead of the certificate', { ssl_cert: usable.ssl_key }, { ssl_cert: ['invalid'] }],
      ['the key of another certificate', { ssl_key: shipped('second.key.pem') }, { ssl_key: ['invalid'] }],
      ['a CA file that is none', { ssl_ca_cert: broken }, { ssl_ca_cert: ['invalid'] }],
      ['an empty path', { ssl_cert: '' }, { ssl_cert: ['minLength'] }],
    ]

    it.each(refusals)('%s; nothing changes and plain HTTP answers', async (_title, values, rules) => {
      const before = await world.snapshot()
      const answer = await set({ ...usable, ...values })
      expect(answer).toBreak(rules)
      expect(await world.snapshot()).toEqual(before)
      expect(world.server.tlsPort).toBeUndefined()
      expect((await world.ada.get(world.acme.path)).status).toBe(200)
    })

    it('a wrong certificate while TLS is served, and keeps serving TLS', async () => {
      await set(usable)
      const port = await served(world)
      const refusal = await world.operator.patch(crossbar, {
        default: { ssl_cert: shipped('second.cert.pem') },
      })
      expect(refusal).toFailWith(400, 'validation error', {
        'default.ssl_key': {
          invalid: { message: 'The private key does not belong to ssl_cert', cause: usable.ssl_key },
        },
      })
      expect(await subjectAt(port)).toBe('first.test')
    })
  })

  it('can be turned off, and other settings changed, although the files are gone', async () => {
    const files = { ssl_cert: join(directory, `lost-${engine}.pem`), ssl_key: usable.ssl_key }
    copyFileSync(usable.ssl_cert, files.ssl_cert)
    await set({ ...usable, ...files })
    await served(world)
    rmSync(files.ssl_cert)
    expect(await set({ pagination_page_size: 52 })).toSucceed()
    expect(await set({ use_ssl: false })).toSucceed()
    await eventually(
      () => world.server.tlsPort,
      (port) => port === undefined,
    )
    world.takeErrors()
  })

  it('follows a change that another process makes', async () => {
    const { log } = createTestLog()
    const { databaseUrl, dataDir } = world.place
    const other = await startServer(
      {
        host: '127.0.0.1',
        port: 0,
        dataDir,
        databaseUrl,
        databaseConnections: 10,
        httpThreads: 1,
        callArchive: undefined,
        masterAccount: 'master',
        masterRealm: 'master.localhost',
        adminUsername: 'operator',
        adminPassword: undefined,
        smtpUrl: undefined,
        dnsServers: [],
        logLevel: 'info',
        logFormat: 'json',
        logColors: false,
        logsAccess: false,
        otlpEndpoint: undefined,
        serviceName: 'crosspoint',
        drainSeconds: 0,
      },
      { clock: world.clock, log },
    )
    try {
      await set(usable)
      // On the embedded store a process notices with its next request; PostgreSQL sends a notification.
      if (engine === 'sqlite') await fetch(`http://127.0.0.1:${other.port}/v2/schemas`)
      const port = (await eventually(
        () => other.tlsPort,
        (seen) => seen !== undefined,
      )) as number
      expect(await subjectAt(port)).toBe('first.test')
    } finally {
      await other.stop()
    }
  })
})

describe('a server whose certificate is gone', () => {
  it('starts all the same, says what is wrong, and serves HTTPS as soon as the files are there', async () => {
    const first = await startServerProcess()
    const cert = join(first.dataDir, 'tls.cert.pem')
    copyFileSync(usable.ssl_cert, cert)
    const json = { 'content-type': 'application/json' }
    const credentials = await fetch(`${first.url}/v2/user_auth`, {
      method: 'PUT',
      headers: json,
      body: JSON.stringify({
        data: {
          credentials: credentialsOf('admin', 'secret'),
          account_name: 'master',
        },
      }),
    })
    const { auth_token: token } = (await credentials.json()) as { auth_token: string }
    const answer = await fetch(`${first.url}${crossbar}/default`, {
      method: 'PATCH',
      headers: { ...json, 'x-auth-token': token },
      // A relative path is looked for below the data directory too.
      body: JSON.stringify({ data: { ...usable, ssl_cert: 'tls.cert.pem' } }),
    })
    expect(answer.status).toBe(200)
    expect(await first.end()).toBe(0)

    renameSync(cert, `${cert}.away`)
    const second = await startServerProcess({}, first.dataDir)
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200)
    await eventually(
      () => second.errors(),
      (text) => text.includes('the TLS settings cannot be used: HTTPS is not served'),
    )
    expect(second.output()).not.toContain('HTTPS')
    renameSync(`${cert}.away`, cert)
    const line = await eventually(
      () =>
        second
          .errors()
          .split('\n')
          .find((entry) => entry.includes('HTTPS is served')),
      (seen) => seen !== undefined,
    )
    expect(await subjectAt(JSON.parse(line as string).port)).toBe('first.test')
    expect(await second.end()).toBe(0)

    const third = await startServerProcess({}, first.dataDir)
    const printed = await eventually(
      () => /HTTPS is served at https:\/\/127\.0\.0\.1:(\d+)/.exec(third.output())?.[1],
      (seen) => seen !== undefined,
    )
    expect(await subjectAt(Number(printed))).toBe('first.test')
    expect(await third.end()).toBe(0)
    removeDataDir(first)
  })
})
