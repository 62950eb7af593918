// Letters are signed (RFC 6376, RFC 8463); a third-party verifier checks the signature with a real name server.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signMessage } from '../../src/mail/dkim.ts'
import type { Signing } from '../../src/mail/senders.ts'
import { verifyDkim } from '../support/matchers/dkim.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { codeFor, openPostOffice, type PostOffice } from '../support/servers/post-office.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')

const pieces = (text: string) => text.match(/.{1,255}/g) ?? []

const rsaRecord = `v=DKIM1; p=${rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`
// The record of an Ed25519 key holds its 32 bytes alone.
const edRecord = `v=DKIM1; k=ed25519; p=${ed25519.publicKey
  .export({ type: 'spki', format: 'der' })
  .subarray(-32)
  .toString('base64')}`

const keys: Record<string, Signing> = {
  rsa: { domain: 'brand.test', selector: 'rsa', privateKey: pemOf(rsa.privateKey) },
  ed25519: { domain: 'brand.test', selector: 'ed', privateKey: pemOf(ed25519.privateKey) },
}

let dns: DnsServer
let smtp: SmtpServer
let office: PostOffice | undefined
let signing: Signing | undefined

beforeEach(async () => {
  dns = await startDnsServer()
  dns.set(
    { name: 'rsa._domainkey.brand.test', type: 'TXT', data: pieces(rsaRecord) },
    { name: 'ed._domainkey.brand.test', type: 'TXT', data: pieces(edRecord) },
  )
  smtp = await startSmtpServer()
})

afterEach(async () => {
  await office?.close()
  office = undefined
  await smtp.close()
  await dns.close()
})

/** A received email of a brand. */
const received = async (key: Signing | undefined) => {
  signing = key
  office = await openPostOffice('sqlite', {
    smtpUrl: smtp.url,
    senders: {
      senderOf: async () => ({ address: 'support@brand.test', name: 'Brand' }),
      signingFor: async () => signing,
    },
  })
  await office.send(codeFor('ada@acme.test'))
  await office.deliver()
  return smtp.mails[0]?.message ?? ''
}

describe('a signed mail', () => {
  it.each(Object.entries(keys))('arrives with a signature that verifies (%s)', async (kind, key) => {
    const message = await received(key)
    expect(await verifyDkim(message, dns.port)).toEqual([
      {
        result: 'pass',
        signingDomain: 'brand.test',
        selector: key.selector,
        algo: `${kind}-sha256`,
      },
    ])
    expect(message).toContain('From: Brand <support@brand.test>\r\n')
    const [attempt] = (await office?.attempts()) ?? []
    expect(attempt).toMatchObject({
      sender: 'support@brand.test',
      signed_by: `${key.selector}._domainkey.brand.test`,
    })
  })

  it.each(Object.entries(keys))('does not verify once it was changed on the way (%s)', async (_kind, key) => {
    const message = await received(key)
    const verdictOn = async (changed: string) => (await verifyDkim(changed, dns.port))[0]?.result
    expect(message).toContain('4711')
    expect(await verdictOn(message.replace('4711', '4712'))).not.toBe('pass')
    expect(await verdictOn(message.replace('Subject: Verify', 'Subject: Terrify'))).not.toBe('pass')
    expect(await verdictOn(`From: thief@evil.test\r\n${message}`)).not.toBe('pass')
    expect(await verdictOn(`Subject: another\r\n${message}`)).not.toBe('pass')
  })

  it('verifies whatever spaces and empty lines it has', async () => {
    const odd = [
      'From:  a@brand.test \r\nSubject: one\r\n\t two   three\r\nTo: b@acme.test\r\n\r\n',
      'a  b\t c \r\n \r\nd   \r\n\r\n\r\n \t\r\n',
    ].join('')
    for (const message of [
      odd,
      'From: a@brand.test\r\n\r\n',
      'From: a@brand.test\r\n\r\nno end',
      'From: a\r\n\r\n\r\n',
    ]) {
      for (const key of Object.values(keys)) {
        const signed = signMessage(Buffer.from(message), key).toString()
        expect(await verifyDkim(signed, dns.port)).toMatchObject([{ result: 'pass' }])
      }
    }
  })

  it('goes without a signature when there is no key, or one that cannot be used', async () => {
    expect(await received(undefined)).not.toMatch(/^DKIM-Signature/m)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    signing = { domain: 'brand.test', selector: 'ec', privateKey: pemOf(privateKey) }
    await office?.send(codeFor('uli@acme.test'))
    await office?.deliver()
    expect(smtp.mails).toHaveLength(2)
    expect(smtp.mails[1]?.message).not.toMatch(/^DKIM-Signature/m)
    expect(office?.entries.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'an email could not be signed'],
    ])
    expect((await office?.attempts())?.at(-1)).toMatchObject({ outcome: 'delivered', signed_by: '' })
  })
})
