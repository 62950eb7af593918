// A thief who has only the database has no usable credential.
import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hotp, totpStep } from '../../src/areas/accounts/multi-factor/rules.ts'
import { base32Decode } from '../support/run/base32.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const tableNames = {
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
  postgres: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
}

const textOfCell = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)

describeAnyEngine('a stolen database', (engine) => {
  let repeats: Server

  const world = useWorld(engine, async ({ operator }) => {
    await operator.put('/v2/multi_factor', { name: 'App', provider_name: 'otp', enabled: true })
  })

  beforeAll(async () => {
    // A service that repeats the request, as many do in error messages.
    repeats = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () =>
        response.writeHead(422).end(`${request.headers.authorization} ${Buffer.concat(chunks)}`),
      )
    })
    await new Promise<void>((listening) => repeats.listen(0, '127.0.0.1', listening))
  })

  afterAll(() => repeats.close())

  /** All rows of all tables, and the bytes of the files where there are some. */
  const stolen = async () => {
    const { store } = world.server
    const texts: string[] = []
    for (const { name } of await store.all<{ name: string }>(tableNames[engine])) {
      const rows = await store.all<Record<string, unknown>>(`SELECT * FROM ${name}`)
      for (const row of rows) texts.push(Object.values(row).map(textOfCell).join('\n'))
    }
    if (engine === 'sqlite')
      for (const ending of ['', '-wal'])
        texts.push(await readFile(join(world.place.dataDir, `crosspoint.db${ending}`), 'latin1'))
    return texts.join('\n')
  }

  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

  /** A user with a password and a second factor, and the secrets that only the user knows. */
  const person = async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account, {
      username: 'ann',
      password: 'Password-of-ann',
      priv_level: 'admin',
      email: `ann@${account.realm}`,
      hotdesk: { id: '4711', pin: '918273645' },
    })
    const credentials = credentialsOf('ann', 'Password-of-ann')
    const signIn = { credentials, account_realm: account.realm }
    const session = await world.anonymous.put('/v2/user_auth', signIn, keyed('sign-in'))
    await user.post(`${account.path}/security`, {
      auth_modules: { cb_user_auth: { multi_factor: { enabled: true } } },
    })
    const enrolment = await world.anonymous.put('/v2/multi_factor/qrcode', signIn)
    const totp = new URL(enrolment.data[0].qr_url).searchParams.get('secret') ?? ''
    const key = Buffer.from(base32Decode(totp) ?? [])
    const code = hotp(key, totpStep(world.clock.now() / 1000))
    const { recovery_codes: codes } = (
      await world.anonymous.put('/v2/multi_factor/qrcode', { ...signIn, multi_factor_response: code })
    ).data
    const secrets = {
      password: 'Password-of-ann',
      'digest of the password': credentials,
      'hotdesk pin': '918273645',
      token: String(session.body.auth_token),
      'another token': user.token,
      'second factor in base32': totp,
      'second factor in base64': key.toString('base64'),
      'second factor in hex': key.toString('hex'),
      ...Object.fromEntries((codes as string[]).map((one) => [`recovery code ${one}`, one])),
    }
    return { account, user, secrets }
  }

  const apiKeys = async ({ account, user }: Awaited<ReturnType<typeof person>>) => {
    const first = await user.get(`${account.path}/api_key`)
    const second = await user.put(`${account.path}/api_key`, {}, keyed('renewal'))
    return { 'old API key': first.data.api_key, 'API key': second.data.api_key }
  }

  const phone = async ({ account }: Awaited<ReturnType<typeof person>>) => {
    const device = await world.device(account, {
      mac_address: '00:11:22:33:44:55',
      sip: { username: 'desk', password: 'Sip-password-1' },
      provision: { endpoint_brand: 'brand', settings: { admin_password: 'Phone-password' } },
    })
    await world.operator.patch(device.path, { sip: { password: 'Sip-password-2' } })
    const other = await world.device(account, { sip: { username: 'lobby', password: 'Sip-password-3' } })
    await world.operator.delete(other.path)
    expect((await world.operator.get(device.path)).data.sip.password).toBe('Sip-password-2')
    return {
      'first SIP password': 'Sip-password-1',
      'SIP password': 'Sip-password-2',
      'SIP password of a removed phone': 'Sip-password-3',
      'password of the phone itself': 'Phone-password',
    }
  }

  const carriers = async ({ account }: Awaited<ReturnType<typeof person>>) => {
    const gateways = [{ server: 'carrier.test', username: 'u', password: 'Gateway-password-1' }]
    const made = await world.operator.put(`${account.path}/resources`, { name: 'Carrier', gateways })
    const renewed = [{ server: 'carrier.test', username: 'u', password: 'Gateway-password-2' }]
    await world.operator.patch(`${account.path}/resources/${made.data.id}`, { gateways: renewed })
    await world.operator.put('/v2/resources', {
      name: 'Global carrier',
      gateways: [{ server: 'carrier.test', username: 'u', password: 'Gateway-password-3' }],
    })
    const auth = { auth_user: 'pbx', auth_password: 'Trunk-password' }
    const trunk = await world.operator.put(`${account.path}/connectivity`, { servers: [{ auth }] })
    expect([made.status, trunk.status]).toEqual([201, 201])
    return {
      'first password of a gateway': 'Gateway-password-1',
      'password of a gateway': 'Gateway-password-2',
      'password of a gateway of the system': 'Gateway-password-3',
      'password of a trunk': 'Trunk-password',
    }
  }

  const settings = async () => {
    const { port } = repeats.address() as AddressInfo
    const documents = {
      'services.stripe': {
        api_key: 'sk_live_operator',
        webhook_secret: 'whsec_operator',
        vendors: { [world.reseller.id]: { api_key: 'sk_live_vendor', webhook_secret: 'whsec_vendor' } },
      },
      'services.http_sync': {
        http_url: 'https://billing.test',
        authorization_header: 'Bearer of-the-bookkeeper',
        signing_secret: 'signing-of-the-bookkeeper',
      },
      ingest: { freeswitch_secret: 'ingest-secret-of-the-operator' },
      provisioner: {
        provisioning_url: `http://127.0.0.1:${port}/`,
        authorization_header: 'Bearer of-the-provisioner',
      },
      'carrier.sample': {
        username: 'crosspoint',
        password: 'Carrier-password',
        access_token: 'Carrier-token',
      },
    }
    const provider = await world.operator.put('/v2/multi_factor', {
      name: 'Other',
      provider_name: 'otp',
      enabled: false,
      settings: { secret_key: 'Key-of-provider', application_secret_key: 'Application-key' },
    })
    expect(provider.status).toBe(201)
    for (const [name, section] of Object.entries(documents)) {
      const answer = await world.operator.post(`/v2/system_configs/${name}`, { default: section })
      expect(answer.status).toBe(200)
    }
    await world.configure('crossbar', { ssl_password: 'Pass-phrase-of-the-key' })
    await world.ross.post(`${world.reseller.path}/configs/shop`, { api_key: 'Key-of-the-shop' })
    return {
      'Stripe key': 'sk_live_operator',
      'Stripe webhook secret': 'whsec_operator',
      'Stripe key of a vendor': 'sk_live_vendor',
      'Stripe webhook secret of a vendor': 'whsec_vendor',
      'header for the bookkeeper': 'of-the-bookkeeper',
      'ingest secret': 'ingest-secret-of-the-operator',
      'header for the provisioning': 'of-the-provisioner',
      'password of a carrier': 'Carrier-password',
      'token of a carrier': 'Carrier-token',
      'pass phrase': 'Pass-phrase-of-the-key',
      'key of a provider': 'Key-of-provider',
      'application key of a provider': 'Application-key',
      'key in a document of an account': 'Key-of-the-shop',
    }
  }

  const recovery = async ({ account }: Awaited<ReturnType<typeof person>>) => {
    await world.configure('crossbar', { recovery_ui_hosts: ['ui.test'] })
    await world.anonymous.put('/v2/user_auth/recovery', {
      username: 'ann',
      account_realm: account.realm,
      ui_url: 'https://ui.test/login',
    })
    await world.server.scheduler.runNow('password_recovery')
    const waiting = await stolen()
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, `ann@${account.realm}`)
    const [id] = mails.flatMap((mail) => /recovery=([0-9a-f]+)/.exec(textOf(mail))?.[1] ?? [])
    expect(id).toMatch(/^[0-9a-f]{137}$/)
    return { waiting, secrets: { 'reset id': String(id) } }
  }

  const welcome = async ({ account }: Awaited<ReturnType<typeof person>>) => {
    const data = {
      first_name: 'New',
      last_name: 'Comer',
      username: 'newcomer',
      password: 'Password-in-a-letter',
    }
    const email = `newcomer@${account.realm}`
    const made = await world.operator.put(
      `${account.path}/users`,
      { ...data, email, send_email_on_creation: true },
      keyed('welcome'),
    )
    expect(made.status).toBe(201)
    return { 'password in a request with a key': 'Password-in-a-letter' }
  }

  const dkim = async ({ account }: Awaited<ReturnType<typeof person>>) => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const path = `${account.path}/whitelabel/emails`
    const sender = { email: `sender@${account.realm}`, dkim_selector: 's' }
    const { id } = (await world.operator.put(path, sender)).body.metadata
    const put = await world.operator.post(`${path}/${id}`, undefined, {
      body: pem,
      headers: { 'content-type': 'application/x-pem-file' },
    })
    expect(put.status).toBe(200)
    return { 'line of a DKIM key': String(pem.split('\n')[5]), 'mark of a private key': 'PRIVATE KEY-----' }
  }

  it('holds no credential in clear, whatever was stored, and neither does the log', async () => {
    const ann = await person()
    const secrets: Record<string, string> = {
      ...ann.secrets,
      ...(await settings()),
      ...(await apiKeys(ann)),
      ...(await phone(ann)),
      ...(await carriers(ann)),
      ...(await welcome(ann)),
      ...(await dkim(ann)),
    }
    const { waiting, secrets: ofRecovery } = await recovery(ann)
    await ann.user.delete('/v2/token_auth')
    await world.server.scheduler.runNow('provisioning')
    Object.assign(secrets, ofRecovery)
    const places = { waiting, 'in the end': await stolen(), 'in the log': JSON.stringify(world.logEntries) }
    const found = Object.entries(places).flatMap(([when, text]) =>
      Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [`${name} ${when}`] : [])),
    )
    expect(found).toEqual([])
    expect(places['in the end']).toContain('crosspoint')
  })
})
