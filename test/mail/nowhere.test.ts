// Mail to invented people, at a real mail server.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMetrics } from '../../src/lib/metrics.ts'
import type { QueuedMailJob } from '../../src/mail/message.ts'
import { type MailTransport, mailRefusalOf, smtpTransport } from '../../src/mail/transports.ts'
import { createCalls } from '../../src/outgoing/calls.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'

let smtp: SmtpServer
let transport: MailTransport

beforeAll(async () => {
  smtp = await startSmtpServer()
  transport = smtpTransport(smtp.url, createCalls({ metrics: createMetrics() }))
})

afterAll(async () => {
  transport.close()
  await smtp.close()
})

const carry = (recipient: string) => {
  const letter = { payload: { recipient } } as QueuedMailJob
  return transport.send(Buffer.from('Subject: hello\r\n\r\nHello.\r\n'), 'crosspoint@localhost', letter)
}

it('is given up at once, and not handed over', async () => {
  for (const recipient of ['bob@bakery.invalid', 'bob@INVALID', 'bob@sip.bakery.invalid']) {
    const refusal = await carry(recipient).then(() => undefined, mailRefusalOf)
    expect(refusal).toMatchObject({ isFinal: true, isServerDown: false })
    expect(refusal?.reason).toContain(`${recipient} is not a real address`)
  }
  await carry('bob@not-invalid.test')
  expect(smtp.mails.flatMap(({ to }) => to)).toEqual(['bob@not-invalid.test'])
})
