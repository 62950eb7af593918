// The reseller's story of examples/branding.mjs: a real server, a real name server, a real mail server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Answer as DnsRecord } from 'dns-packet'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyDkim } from './support/matchers/dkim.ts'
import { eventually } from './support/run/eventually.ts'
import { type DnsServer, startDnsServer } from './support/servers/dns-server.ts'
import { textOf } from './support/servers/outbox.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from './support/servers/server-process.ts'
import { type SmtpServer, startSmtpServer } from './support/servers/smtp-server.ts'

let dns: DnsServer
let smtp: SmtpServer
let server: ServerProcess

beforeAll(async () => {
  dns = await startDnsServer()
  smtp = await startSmtpServer()
  server = await startServerProcess({ CROSSPOINT_SMTP_URL: smtp.url, CROSSPOINT_DNS_SERVERS: dns.text })
})

afterAll(async () => {
  await server.end()
  removeDataDir(server)
  await Promise.all([dns.close(), smtp.close()])
})

const recordOf = (line: string): DnsRecord => {
  const [, name = '', type = '', text = ''] = /^ {2}(\S+) (\S+) (.+)$/.exec(line) ?? []
  if (type === 'A' || type === 'CNAME') return { type, name, data: text }
  if (type === 'TXT') return { type, name, data: text.match(/.{1,200}/g) ?? [] }
  const [priority = 0, weight = 0, port = 0] = text.split(' ').map(Number)
  return { type: 'SRV', name, data: { priority, weight, port, target: text.split(' ')[3] ?? '' } }
}

const mailTo = (address: string) =>
  eventually(
    () => smtp.mails.find(({ to }) => to.includes(address)),
    (mail) => mail !== undefined,
  )

/** The story of a domain, as a process. */
const begin = (domain: string, more: Record<string, string> = {}) =>
  spawn(process.execPath, ['examples/branding.mjs'], {
    env: {
      ...process.env,
      CROSSPOINT_URL: server.url,
      CROSSPOINT_ADMIN_PASSWORD: 'secret',
      BRAND_DOMAIN: domain,
      BRAND_SENDER: `support@${domain}`,
      BRAND_RECIPIENT: 'customer@elsewhere.test',
      BRAND_PAUSE_MS: '50',
      ...more,
    },
  })

const recordsIn = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.split(' ').slice(2, 4).join(' '))

it('a story whose records never appear ends and names the missing record', async () => {
  const story = begin('unset.test', { BRAND_PATIENCE_S: '0' })
  const [output, errors, [status]] = await Promise.all([
    text(story.stdout),
    text(story.stderr),
    once(story, 'exit'),
  ])
  expect(status).toBe(1)
  expect(errors).toContain('These records are still missing in DNS:')
  expect(recordsIn(errors)).toEqual(recordsIn(output))
})

it('a reseller gets a brand that works outside of the database', async () => {
  const story = begin('brand.test')
  let output = ''
  let errors = ''
  story.stdout.on('data', (chunk) => {
    output += chunk
  })
  story.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ended = once(story, 'exit')
  const told = (text: string) =>
    Promise.race([
      eventually(
        () => output,
        (seen) => seen.includes(text),
      ),
      ended.then(() => Promise.reject(new Error(`the story ended early: ${output}${errors}`))),
    ])

  await told('Waiting for DNS.')
  const lines = output.split('\n').filter((line) => line.startsWith('  '))
  expect(recordsIn(output)).toEqual([
    'sip.brand.test A',
    'portal.brand.test CNAME',
    '_sip._udp.brand.test SRV',
    'crosspoint._domainkey.brand.test TXT',
    'brand.test TXT',
  ])
  dns.set(...lines.map(recordOf))

  await told('The code that was mailed')
  const letter = await mailTo('support@brand.test')
  const code = /(\d{4})\. It is valid/.exec(textOf(letter?.message ?? '').replaceAll('\r\n', ' '))?.[1]
  story.stdin.write(`${code}\n`)

  expect([await ended, errors]).toEqual([[0, null], ''])
  expect(output).toContain('A visitor of brand.test sees Brand Telephony and its logo.')
  const mail = await mailTo('customer@elsewhere.test')
  expect(mail?.message).toMatch(/^From: .*support@brand\.test/m)
  expect(await verifyDkim(mail?.message ?? '', dns.port)).toEqual([
    { result: 'pass', signingDomain: 'brand.test', selector: 'crosspoint', algo: 'rsa-sha256' },
  ])
})
