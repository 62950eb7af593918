import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMail, type Mail } from '../../src/mail/mail.ts'
import { createTestClock } from '../support/clock.ts'
import { createTestLog } from '../support/log.ts'
import { startSmtpServer } from '../support/smtp-server.ts'

const letter = { to: 'ada@acme.test', subject: 'Grüße', text: 'One line.\n.\nAnother after a lone dot.' }

let folder: string
const open: { close(): Promise<unknown> }[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosspoint-mail-'))
})

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  await rm(folder, { recursive: true, force: true })
})

const makeMail = (smtpUrl: string | undefined, pauses: number[] = []) => {
  const { log, entries, errors } = createTestLog()
  const mail: Mail = createMail({
    smtpUrl,
    outboxDir: join(folder, 'outbox'),
    sender: async () => 'crosspoint@master.test',
    clock: createTestClock(),
    log,
    pauses,
  })
  open.push({ close: mail.drain })
  return { mail, entries, errors }
}

const smtpServer = async () => {
  const server = await startSmtpServer()
  open.unshift(server)
  return server
}

describe('mail without SMTP', () => {
  it('becomes a file that only the owner of the server reads', async () => {
    const { mail } = makeMail(undefined)
    mail.send(letter)
    await mail.drain()
    const [name, ...others] = await readdir(join(folder, 'outbox'))
    expect(others).toEqual([])
    expect(name).toMatch(/^2026-01-05T12-00-00\.000Z-[0-9a-f]{8}\.eml$/)
    const file = join(folder, 'outbox', String(name))
    const message = await readFile(file, 'utf8')
    expect(message).toContain('From: crosspoint@master.test\r\n')
    expect(message).toContain('To: ada@acme.test\r\n')
    expect(message).toContain('Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\n')
    expect(message).toContain('One line.\r\n.\r\nAnother after a lone dot.')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder, 'outbox'))).mode & 0o777).toBe(0o700)
  })

  it('never takes a subject or an address for further headers', async () => {
    const { mail } = makeMail(undefined)
    mail.send({ to: 'a@b.test', subject: 'Hello\r\nBcc: thief@evil.test', text: 'text' })
    await mail.drain()
    const [name] = await readdir(join(folder, 'outbox'))
    expect(await readFile(join(folder, 'outbox', String(name)), 'utf8')).not.toMatch(/^Bcc:/m)
  })
})

describe('mail over SMTP', () => {
  it('arrives', async () => {
    const server = await smtpServer()
    const { mail } = makeMail(server.url)
    mail.send(letter)
    await vi.waitFor(() => expect(server.mails).toHaveLength(1))
    expect(server.mails[0]).toEqual({
      from: 'crosspoint@master.test',
      to: ['ada@acme.test'],
      message: expect.stringContaining('One line.\r\n.\r\nAnother after a lone dot.'),
    })
  })

  it('is tried again until the server takes it', async () => {
    const server = await smtpServer()
    server.refuse(2)
    const { mail, entries, errors } = makeMail(server.url, [10, 20, 40])
    mail.send(letter)
    await vi.waitFor(() => expect(server.mails).toHaveLength(1))
    expect(entries.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { to: letter.to, subject: letter.subject, tries: 1, pause_ms: 10 }],
      ['warn', { to: letter.to, subject: letter.subject, tries: 2, pause_ms: 20 }],
    ])
    expect(errors()).toEqual([])
  })

  it('is given up after the last try, and said so without its text', async () => {
    const server = await smtpServer()
    server.refuse(3)
    const { mail, errors } = makeMail(server.url, [1, 1])
    mail.send({ ...letter, text: 'a secret link' })
    await vi.waitFor(() => expect(errors()).toHaveLength(1))
    expect(errors()[0]).toEqual({
      level: 'error',
      message: 'a mail could not be delivered',
      fields: { to: letter.to, subject: letter.subject, tries: 3, error: expect.anything() },
    })
    expect(JSON.stringify(errors())).not.toContain('a secret link')
    expect(server.mails).toEqual([])
  })

  it('gets one more try when the server stops, however long the pause would be', async () => {
    const server = await smtpServer()
    server.refuse(1)
    const { mail, entries, errors } = makeMail(server.url, [3_600_000])
    mail.send(letter)
    await vi.waitFor(() => expect(entries).toHaveLength(1))
    await mail.drain()
    expect(server.mails).toHaveLength(1)
    expect(errors()).toEqual([])
  })

  it('does not make anybody wait while nobody listens', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as { port: number }
    await new Promise((resolve) => closed.close(resolve))
    const { mail, errors } = makeMail(`smtp://127.0.0.1:${port}`)
    mail.send(letter)
    await vi.waitFor(() => expect(errors()).toHaveLength(1))
  })
})
