// The specification's email verification.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { createTestClock } from '../support/run/clock.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const sentence = 'A verification code was sent to the email address'

const pemOf = (key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8') =>
  key.export({ type, format: 'pem' } as never).toString()

const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
const larger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const edwards = generateKeyPairSync('ed25519').privateKey
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const publicText = (key: KeyObject) =>
  createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')

const notFour = (code: string) => (code === '1234' ? '4321' : '1234')

describeAnyEngine('sender addresses', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('crossbar.auth', { token_auth_expiry_s: 0 })
  })
  let made = 0
  const freshAddress = () => {
    made += 1
    return `Support${made}@brand.test`
  }

  // The users of the world have tokens for one hour only: so the clock is set back.
  afterEach(() => world.clock.advance({ milliseconds: createTestClock().now() - world.clock.now() }))

  const at = ({ path }: TestAccount) => `${path}/whitelabel/emails`

  /** The codes that were mailed to an address, oldest first. */
  const codesTo = async (address: string) => {
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, address)
    return mails.map(
      (mail) => /\b(\d{4})\. It is valid/.exec(textOf(mail).replaceAll('\r\n', ' '))?.[1] ?? mail,
    )
  }

  const place = async (fields: object = {}) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const email = freshAddress()
    const put = await admin.put(at(account), { email, ...fields })
    expect(put).toSucceedWith(sentence)
    const id = put.body.metadata.id as string
    return { account, admin, email, id, put, path: `${at(account)}/${id}` }
  }

  const verified = async (fields: object = {}) => {
    const placed = await place(fields)
    const [code] = await codesTo(placed.email)
    expect(await placed.admin.post(`${placed.path}/verify`, { code })).toSucceed()
    return placed
  }

  const upload = (by: Person, path: string, body: string, type = 'application/x-pem-file') =>
    by.post(path, undefined, { body, headers: { 'content-type': type } })

  it('are added, changed, verified, signed for and removed', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const email = freshAddress()
    expect(await admin.get(at(account))).toSucceedWith([])
    const put = await admin.put(at(account), { email, dkim_selector: 'old' })
    expect(put).toSucceedWith(sentence)
    const id = put.body.metadata.id as string
    expect(put.body.metadata).toEqual({
      id,
      created: expect.any(Number),
      modified: expect.any(Number),
      verified: false,
    })
    const path = `${at(account)}/${id}`
    expect(put.headers.location).toBe(path)
    const record = { id, email, dkim_selector: 'new' }
    expect(await admin.post(path, record)).toSucceedWith(record)
    const [code] = await codesTo(email)
    expect(code).toMatch(/^[1-9]\d{3}$/)
    const answer = await admin.post(`${path}/verify`, { code })
    expect(answer).toSucceedWith(record)
    expect(answer.body.metadata.verified).toBe(true)
    expect(await admin.get(at(account))).toSucceedWith([{ id, email, verified: true }])
    expect(await upload(admin, path, pemOf(rsa, 'pkcs1'))).toSucceedWith(record)
    const removed = await admin.delete(path)
    expect(removed).toSucceedWith(record)
    expect(removed.body.metadata).toMatchObject({ id, verified: true, deleted: true })
    expect(await admin.get(at(account))).toSucceedWith([])
    expect(await admin.get(path)).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: id })
  })

  it('are refused a wrong code, and get a new one by mail: the old one is good no more', async () => {
    const { admin, email, id, path } = await place()
    const [first = ''] = await codesTo(email)
    const answer = await admin.post(`${path}/verify`, { code: notFour(first) })
    expect(answer).toFailWith(400, 'validation error', {
      code: { invalid: { message: 'Invalid verification code: a new code was sent' } },
    })
    expect(answer.body.metadata).toMatchObject({ id, verified: false })
    const [, second = ''] = await codesTo(email)
    expect(second).toMatch(/^\d{4}$/)
    if (second !== first) {
      expect(await admin.post(`${path}/verify`, { code: first })).toBreak({ code: ['invalid'] })
    }
    const [, , third] = await codesTo(email)
    expect(await admin.post(`${path}/verify`, { code: Number(third) })).toSucceed()
  })

  it('need a code of four digits: what is none spends nothing', async () => {
    const { admin, email, path } = await place()
    await world.unchanged(async () => {
      expect(await admin.post(`${path}/verify`, {})).toBreak({ code: ['required'] })
      expect(await admin.post(`${path}/verify`, { code: { a: 1 } })).toBreak({ code: ['type'] })
      expect(await admin.post(`${path}/verify`, { code: '1'.repeat(100) })).toBreak({ code: ['maxLength'] })
      for (const code of ['none', '123', '12345', ' 1234', '', 99, 12_345, -1234])
        expect(await admin.post(`${path}/verify`, { code })).toBreak({ code: ['pattern'] })
    })
    const [code] = await codesTo(email)
    expect(await admin.post(`${path}/verify`, { code })).toSucceed()
  })

  it('are refused a code that is an hour old', async () => {
    const { admin, email, path } = await place()
    const [code] = await codesTo(email)
    world.clock.advance({ minutes: 60 })
    expect(await admin.post(`${path}/verify`, { code })).toBreak({ code: ['invalid'] })
    const [, next] = await codesTo(email)
    world.clock.advance({ minutes: 59 })
    expect(await admin.post(`${path}/verify`, { code: next })).toSucceed()
  })

  it('stay verified: verifying again changes nothing and mails nothing', async () => {
    const { admin, email, path } = await verified()
    await world.unchanged(async () => {
      const answer = await admin.post(`${path}/verify`, { code: '0000' })
      expect(answer).toSucceed()
      expect(answer.body.metadata.verified).toBe(true)
    })
    expect(await codesTo(email)).toHaveLength(1)
  })

  it('have to be verified again when they change, and not when anything else does', async () => {
    const { admin, email, id, path } = await verified({ dkim_selector: 'a' })
    const same = await admin.post(path, { email: email.toUpperCase(), dkim_selector: 'b' })
    expect(same.body.metadata.verified).toBe(true)
    const selector = await admin.post(path, { dkim_selector: 'c' })
    expect(selector).toSucceedWith({ id, email: email.toUpperCase(), dkim_selector: 'c' })
    const other = freshAddress()
    const changed = await admin.post(path, { email: other })
    expect(changed).toSucceedWith({ id, email: other, dkim_selector: 'c' })
    expect(changed.body.metadata.verified).toBe(false)
    expect(await admin.get(path.slice(0, -id.length - 1))).toSucceedWith([
      { id, email: other, verified: false },
    ])
    const [code] = await codesTo(other)
    expect(await admin.post(`${path}/verify`, { code })).toSucceed()
    expect(await codesTo(email)).toHaveLength(1)
  })

  it('keep nothing that a client says of what only the server knows', async () => {
    const told = { verified: true, created: 5, modified: 5, deleted: true, id: 'mine' }
    const { account, admin, email, id, path } = await place(told)
    expect(await admin.get(path)).toSucceedWith({ id, email })
    const changed = await admin.post(path, { ...told, dkim_selector: 'a', note: 'kept' })
    expect(changed).toSucceedWith({ id, email, dkim_selector: 'a', note: 'kept' })
    expect(changed.body.metadata).toMatchObject({ id, verified: false, created: expect.any(Number) })
    expect(changed.body.metadata.created).toBeGreaterThan(5)
    expect(changed.body.metadata.deleted).toBeUndefined()
    expect(await admin.get(at(account))).toSucceedWith([{ id, email, verified: false }])
  })

  it('are filtered by whether they are verified, whatever a client has said of it', async () => {
    const { account, admin, email, id } = await verified({ verified: false })
    const other = freshAddress()
    const put = await admin.put(at(account), { email: other, verified: true })
    const first = { id, email, verified: true }
    const second = { id: put.body.metadata.id, email: other, verified: false }
    const found = (query: object) => admin.get(at(account), { query: { ...query } })
    expect(await found({ filter_verified: true })).toSucceedWith([first])
    expect(await found({ filter_verified: false })).toSucceedWith([second])
    expect(await found({ filter_not_verified: true })).toSucceedWith([second])
  })

  it('are unique in an account, whatever the case', async () => {
    const { account, admin, email, path } = await place()
    const taken = (cause: string) => ({
      email: { unique: { message: 'Whitelabel email address is already in use', cause } },
    })
    await world.unchanged(async () => {
      const again = await admin.put(at(account), { email })
      expect(again).toFailWith(400, 'validation error', taken(email))
      const loud = email.toUpperCase()
      expect(await admin.put(at(account), { email: loud })).toFailWith(400, 'validation error', taken(loud))
      expect(await admin.put(at(account), { email: 'x' })).toBreak({ email: ['wrong_format'] })
      expect(await admin.put(at(account), {})).toBreak({ email: ['required'] })
      expect(await admin.put(at(account), { email: freshAddress(), dkim_selector: 'a b' })).toBreak({
        dkim_selector: ['pattern'],
      })
    })
    expect(await admin.post(path, { email })).toSucceed()
    const second = freshAddress()
    const put = await admin.put(at(account), { email: second })
    const other = `${at(account)}/${put.body.metadata.id}`
    expect(await admin.post(other, { email })).toFailWith(400, 'validation error', taken(email))
    expect(await admin.post(other, { email: second, dkim_selector: 'x' })).toSucceed()
    const stranger = await world.account(world.reseller)
    expect(await world.ross.put(at(stranger), { email })).toSucceed()
  })

  it('cannot be guessed: after twenty codes within an hour there is none for the rest of it', async () => {
    const { account, admin, email, path } = await place()
    const guess = async () => admin.post(`${path}/verify`, { code: '0000' })
    for (let times = 1; times < 20; times += 1) expect(await guess()).toBreak({ code: ['invalid'] })
    const late = await guess()
    expect(late).toFailWith(429, 'too_many_requests')
    expect(late.headers['retry-after']).toBe('3600')
    const codes = await codesTo(email)
    expect(codes).toHaveLength(20)
    await world.unchanged(async () => {
      expect(await admin.post(`${path}/verify`, { code: codes.at(-1) })).toFailWith(429, 'too_many_requests')
    })
    await admin.delete(path)
    expect(await admin.put(at(account), { email })).toFailWith(429, 'too_many_requests')
    const other = await world.account(world.reseller)
    const stranger = await world.admin(other)
    expect(await stranger.put(at(other), { email })).toFailWith(429, 'too_many_requests')
    world.clock.advance({ minutes: 60 })
    const again = await admin.put(at(account), { email })
    expect(again).toSucceed()
    const code = (await codesTo(email)).at(-1)
    expect(await admin.post(`${at(account)}/${again.body.metadata.id}/verify`, { code })).toSucceed()
    expect(await stranger.put(at(other), { email })).toSucceed()
  })

  it('cannot be guessed at many codes at once: each guess spends one', async () => {
    const { admin, email, path } = await place()
    const guesses = await Promise.all(
      Array.from({ length: 10 }, () => admin.post(`${path}/verify`, { code: '0000' })),
    )
    const refused = guesses.filter(({ status }) => status === 400)
    expect(guesses.filter(({ status }) => status !== 400 && status !== 409)).toEqual([])
    expect(await codesTo(email)).toHaveLength(1 + refused.length)
  })

  it('are a hundred at most, and no account mails the whole world', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const put = () => admin.put(at(account), { email: freshAddress() })
    for (let count = 0; count < 60; count += 1) expect(await put()).toSucceed()
    expect(await put()).toFailWith(429, 'too_many_requests')
    world.clock.advance({ minutes: 60 })
    for (let count = 60; count < 100; count += 1) expect(await put()).toSucceed()
    expect(await put()).toBreak({ email: ['maxItems'] })
  })

  it('can be read with a token, changed by admins, and never used by other accounts', async () => {
    const { account, path } = await place()
    const user = await world.user(account)
    expect(await user.get(at(account))).toSucceed()
    expect(await user.get(path)).toSucceed()
    const list = at(account)
    await world.unchanged(async () => {
      for (const stranger of [world.rex, world.ada, user]) {
        expect(await stranger.put(list, { email: freshAddress() })).toFailWith(403, 'forbidden')
        expect(await stranger.post(path, { dkim_selector: 'x' })).toFailWith(403, 'forbidden')
        expect(await stranger.post(`${path}/verify`, { code: '0000' })).toFailWith(403, 'forbidden')
        expect(await stranger.delete(path)).toFailWith(403, 'forbidden')
      }
      expect(await world.rex.get(list)).toFailWith(403, 'forbidden')
      expect(await world.anonymous.get(list)).toFailWith(401, 'invalid_credentials')
      expect(await world.anonymous.get(path)).toFailWith(401, 'invalid_credentials')
      const elsewhere = `${at(world.acme)}/${path.split('/').at(-1)}`
      expect(await world.ada.get(elsewhere)).toFailWith(404, 'bad_identifier')
      expect(await world.ada.post(`${elsewhere}/verify`, { code: '0000' })).toFailWith(404, 'bad_identifier')
    })
  })

  it('take a private key that mail can be signed with, and show its public half only', async () => {
    const { admin, id, email, path } = await place()
    const keys: [KeyObject, 'pkcs1' | 'pkcs8', object][] = [
      [rsa, 'pkcs1', { key_type: 'rsa', key_bits: 1024, record: `v=DKIM1; p=${publicText(rsa)}` }],
      [larger, 'pkcs8', { key_type: 'rsa', key_bits: 2048, record: `v=DKIM1; p=${publicText(larger)}` }],
      [
        edwards,
        'pkcs8',
        {
          key_type: 'ed25519',
          key_bits: 256,
          record: `v=DKIM1; k=ed25519; p=${Buffer.from(
            createPublicKey(edwards).export({ format: 'jwk' }).x ?? '',
            'base64url',
          ).toString('base64')}`,
        },
      ],
    ]
    for (const [key, form, shown] of keys) {
      const pem = pemOf(key, form)
      for (const body of [pem, pem.replaceAll('\n', '\r\n'), `a comment\n${pem}`]) {
        const answer = await upload(admin, path, body)
        expect(answer).toSucceedWith({ id, email })
        expect(answer.body.metadata.dkim).toEqual(shown)
        expect((await admin.get(path)).body.metadata.dkim).toEqual(shown)
      }
    }
    expect((await admin.post(path, { dkim_selector: 's' })).body.metadata.dkim).toEqual(keys[2]?.[2])
  })

  it('take the key in a form, too, but one alone', async () => {
    const { admin, path } = await place()
    const send = async (...keys: KeyObject[]) => {
      const form = new FormData()
      for (const key of keys)
        form.append('key', new File([pemOf(key)], 'key.pem', { type: 'application/x-pem-file' }))
      const encoded = new Response(form)
      const body = new Uint8Array(await encoded.arrayBuffer())
      return admin.post(path, undefined, {
        body,
        headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
      })
    }
    expect((await send(rsa)).body.metadata.dkim).toMatchObject({ key_bits: 1024 })
    expect(await send(rsa, larger)).toBreak({ file: ['maxItems'] })
  })

  it('take no other file', async () => {
    const { admin, path } = await place()
    await upload(admin, path, pemOf(rsa))
    const encrypted = rsa.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
    const old = rsa.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
    const short = generateKeyPairSync('rsa', { modulusLength: 768 }).privateKey
    const pss = generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).privateKey
    const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
    const files = [
      'garbage',
      '-----BEGIN PRIVATE KEY-----\ngarbage\n-----END PRIVATE KEY-----\n',
      '-----BEGIN PRIVATE KEY-----\n',
      pemOf(rsa) + pemOf(larger),
      pemOf(rsa) + certificate,
      certificate,
      createPublicKey(rsa).export({ type: 'spki', format: 'pem' }).toString(),
      pemOf(elliptic),
      pemOf(elliptic, 'sec1'),
      pemOf(short),
      pemOf(pss),
      pemOf(generateKeyPairSync('ed448').privateKey),
      pemOf(generateKeyPairSync('x25519').privateKey),
      encrypted.toString(),
      old.toString(),
      `${pemOf(rsa)}${' '.repeat(20_000)}`,
    ]
    await world.unchanged(async () => {
      for (const file of files) expect(await upload(admin, path, file)).toBreak({ file: ['required'] })
      expect(await upload(admin, path, pemOf(rsa), 'text/plain')).toFailWith(415, 'unsupported_media_type')
    })
  })

  it('are refused an empty file instead of a key', async () => {
    const { admin, path } = await verified({ dkim_selector: 's' })
    await upload(admin, path, pemOf(rsa))
    await world.unchanged(async () => {
      expect(await upload(admin, path, '')).toBreak({ file: ['required'] })
      expect(await upload(admin, path, '', 'Application/X-PEM-File; charset=us-ascii')).toBreak({
        file: ['required'],
      })
    })
  })

  it('keep the key out of the store, the audit log and responses', async () => {
    const { account, admin, path } = await verified({ dkim_selector: 's' })
    const secret = pemOf(rsa).split('\n').slice(3, 6)
    await upload(admin, path, pemOf(rsa))
    const answers = [
      await admin.get(path),
      await admin.get(at(account)),
      await admin.get(at(account), { query: { full_docs: 'true' } }),
      await admin.post(path, { dkim_selector: 't' }),
      await admin.delete(path),
    ]
    const { store } = world.server
    const rows = [
      ...(await store.all('SELECT doc, hidden, row_json FROM records')),
      ...(await store.all('SELECT before_doc, after_doc, changes FROM audit_log')),
    ]
    const texts = [...answers.map(({ text }) => text), ...rows.map((row) => JSON.stringify(row))]
    for (const line of secret) expect(texts.filter((text) => text.includes(line))).toEqual([])
    const entries = await store.all(
      "SELECT changes FROM audit_log WHERE kind = 'whitelabel_email' AND account_id = $1 ORDER BY id",
      [account.id],
    )
    const changed = entries.map(({ changes }) => JSON.parse((changes as string | null) ?? '[]'))
    const fingerprint = expect.stringMatching(/^\w{8}$/)
    expect(changed.flat()).toContainEqual({ path: 'verified', from: false, to: true })
    expect(changed.flat()).toContainEqual(
      expect.objectContaining({ path: 'dkim_key_fingerprint', to: fingerprint }),
    )
  })

  it('keep the code out of the store', async () => {
    const { email } = await place()
    const [code] = await codesTo(email)
    const rows = await world.server.store.all(
      "SELECT doc, hidden FROM records WHERE kind = 'whitelabel_email'",
    )
    expect(rows.filter((row) => JSON.stringify(row).includes(`"${code}"`))).toEqual([])
  })

  it('tell whose mail comes from where, and what it is signed with', async () => {
    const { senders } = world.server.areas.whitelabel
    const { account, admin, email, path } = await place({ dkim_selector: 'sel' })
    const below = await world.account(account)
    const domain = `${account.id.slice(-8)}.brand.test`
    await admin.put(`${account.path}/whitelabel`, { domain: `https://${domain}/`, company_name: 'Brand' })
    await upload(admin, path, pemOf(rsa, 'pkcs1'))
    const nothing = async (id: string) => {
      expect(await senders.signingFor(id, email)).toBeUndefined()
      expect(await senders.maySendAs(id, email)).toBe(false)
      expect(await senders.senderOf(id)).toBeUndefined()
    }
    await nothing(account.id)
    const [code] = await codesTo(email)
    await admin.post(`${path}/verify`, { code })
    for (const { id } of [account, below]) {
      const signing = await senders.signingFor(id, email.toLowerCase())
      expect(signing).toEqual({ domain, selector: 'sel', privateKey: pemOf(rsa, 'pkcs8') })
      expect(await senders.senderOf(id)).toEqual({ address: email, name: 'Brand' })
      expect(await senders.maySendAs(id, email)).toBe(true)
    }
    await nothing(world.rival.id)
    await nothing(world.reseller.id)
    await upload(admin, path, pemOf(edwards))
    expect((await senders.signingFor(account.id, email))?.privateKey).toBe(pemOf(edwards))
    const second = freshAddress()
    const put = await admin.put(at(account), { email: second })
    const [next] = await codesTo(second)
    await admin.post(`${at(account)}/${put.body.metadata.id}/verify`, { code: next })
    expect((await senders.senderOf(account.id))?.address).toBe(email)
    expect(await senders.signingFor(account.id, second)).toBeUndefined()
    await admin.post(path, { dkim_selector: '' })
    expect(await senders.signingFor(account.id, email)).toBeUndefined()
    await admin.delete(`${account.path}/whitelabel`)
    await nothing(account.id)
  })
})
