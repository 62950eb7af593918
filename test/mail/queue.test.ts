// The email queue (src/mail/delivery.ts): emails are committed with their cause, delivered at least once, and given up after
// three days.

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { alertNotice } from '../../src/areas/events/alerts/notices.ts'
import { taskFinishedNotice } from '../../src/areas/work/tasks/notices.ts'
import { createLeases } from '../../src/jobs/leases.ts'
import { createScheduler } from '../../src/jobs/scheduler.ts'
import { datastoreConflict, failure } from '../../src/lib/failure.ts'
import { recipient } from '../../src/mail/mail.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'
import { textOf } from '../support/servers/outbox.ts'
import { acme, codeFor, openPostOffice, paperAccount } from '../support/servers/post-office.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

const open: { close(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const opened = async <T extends { close(): Promise<unknown> }>(opening: Promise<T>): Promise<T> => {
  const one = await opening
  open.push(one)
  return one
}

const smtpServer = () => opened(startSmtpServer())

const headerOf = (message: string | undefined, name: string) =>
  new RegExp(`^${name}: (.*)\r$`, 'm').exec(message ?? '')?.[1]

describeAnyEngine('the mail queue', (engine) => {
  const office = (smtpUrl?: string) => opened(openPostOffice(engine, smtpUrl ? { smtpUrl } : {}))

  it('takes a letter with what causes it, or not at all', async () => {
    const { store, mail, waiting } = await office()
    const set = new ChangeSet({ requestId: 'test' })
    set.record({ accountId: acme.id, kind: 'note', id: 'x', action: 'created' })
    await mail.notify(set, codeFor('ada@acme.test'))
    set.run('UPDATE work SET attempts = 0 WHERE id = $1', ['none'], {
      rows: 1,
      orElse: () => failure(datastoreConflict, {}),
    })
    await expect(store.commit(set)).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await waiting()).toEqual([])
  })

  it('keeps what a letter says sealed, and only until it is delivered', async () => {
    const smtp = await smtpServer()
    const { send, deliver, waiting, settled, attempts } = await office(smtp.url)
    await send(codeFor('ada@acme.test', '4711'))
    const [letter, ...others] = await waiting()
    expect(others).toEqual([])
    expect(letter).toMatchObject({ account_id: acme.id, kind: 'mail', outcome: '' })
    const { messageId, sealed, ...rest } = JSON.parse(String(letter?.payload))
    expect(rest).toEqual({
      notice: 'email_verification',
      recipient: 'ada@acme.test',
      loggedBy: acme.id,
      created: expect.any(Number),
      goodUntil: expect.any(Number),
    })
    expect(`${messageId}${sealed}`).not.toMatch(/code/)
    await deliver()
    expect(await waiting()).toEqual([])
    expect(await settled()).toMatchObject([{ state: 'done', payload: '{}', outcome: '250 taken' }])
    expect(textOf(smtp.mails[0]?.message ?? '')).toContain('The verification code is 4711.')
    expect(JSON.stringify((await attempts()).map(({ subject, reply }) => [subject, reply]))).not.toContain(
      '4711',
    )
  })

  it('delivers text and HTML from the address of the system', async () => {
    const smtp = await smtpServer()
    const { send, deliver, attempts, clock } = await office(smtp.url)
    await send({ ...codeFor('ada@acme.test'), account: acme })
    await deliver()
    const [mail] = smtp.mails
    expect(mail).toMatchObject({ from: 'crosspoint@localhost', to: ['ada@acme.test'] })
    expect(headerOf(mail?.message, 'From')).toBe('crosspoint@localhost')
    expect(headerOf(mail?.message, 'To')).toBe('ada@acme.test')
    expect(headerOf(mail?.message, 'Subject')).toBe('Verify your sender address')
    expect(headerOf(mail?.message, 'Date')).toBe('Mon, 05 Jan 2026 12:00:00 +0000')
    expect(headerOf(mail?.message, 'Message-ID')).toMatch(/^<[0-9a-f]{32}@acme\.test>$/)
    expect(mail?.message).toContain('Content-Type: text/plain; charset=utf-8')
    expect(mail?.message).toContain('Content-Type: text/html; charset=utf-8')
    expect(await attempts()).toEqual([
      {
        account_id: acme.id,
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        at: clock.now(),
        letter_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        message_id: headerOf(mail?.message, 'Message-ID')?.slice(1, -1),
        notice: 'email_verification',
        recipient: 'ada@acme.test',
        sender: 'crosspoint@localhost',
        subject: 'Verify your sender address',
        number: 1,
        outcome: 'delivered',
        reply: '250 taken',
        signed_by: '',
      },
    ])
  })

  it('never takes a value for a header', async () => {
    const { send, deliver, outbox } = await office()
    const alert = {
      'alert.title': 'Hello\r\nBcc: thief@evil.test',
      'alert.message': '',
      'alert.category': '',
    }
    await send({ notice: alertNotice, account: acme, to: [recipient('ada@acme.test', acme)], values: alert })
    await deliver()
    // Alerts go to the admins of an account, and this one has none.
    await expect(readdir(outbox)).rejects.toThrow()
    const task = {
      'task.id': '',
      'task.category': 'a\r\nBcc: thief@evil.test\r\n\r\nbody',
      'task.action': '\u2028Bcc: x@evil.test',
      'task.file_name': '',
      'task.status': 'success',
      'task.success_count': '',
      'task.failure_count': '',
    }
    await send({
      notice: taskFinishedNotice,
      account: acme,
      to: [recipient('ada@acme.test', acme)],
      values: task,
    })
    await deliver()
    const [name] = await readdir(outbox)
    const head = (await readFile(join(outbox, String(name)), 'utf8')).split('\r\n\r\n')[0]
    expect(head).not.toMatch(/^(Bcc|body)/m)
  })

  it('becomes files that only the owner of the server reads when there is no mail server', async () => {
    const { send, deliver, outbox } = await office()
    await send(codeFor('ada@acme.test'))
    await deliver()
    const [name, ...others] = await readdir(outbox)
    expect(others).toEqual([])
    expect(name).toMatch(/^2026-01-05T12-00-00\.000Z-[0-9a-f]{20}\.eml$/)
    const file = join(outbox, String(name))
    expect(textOf(await readFile(file, 'utf8'))).toContain('The verification code is 4711.')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(outbox)).mode & 0o777).toBe(0o700)
  })

  it('tries again after ten seconds, then after growing pauses, always the same letter', async () => {
    const smtp = await smtpServer()
    const { send, deliver, isAnyDue, waiting, attempts, clock, entries, errors } = await office(smtp.url)
    smtp.refuse(4)
    await send(codeFor('ada@acme.test'))
    const pauses: number[] = []
    for (let count = 1; count <= 4; count += 1) {
      await deliver()
      const [letter] = await waiting()
      const pause = (letter?.due_at as number) - clock.now()
      pauses.push(pause / 1000)
      clock.advance({ milliseconds: pause - 1 })
      expect(await isAnyDue()).toBe(false)
      clock.advance({ milliseconds: 1 })
      expect(await isAnyDue()).toBe(true)
    }
    await deliver()
    expect(pauses).toEqual([10, 60, 300, 900])
    expect(smtp.mails).toHaveLength(1)
    expect(await waiting()).toEqual([])
    const tried = await attempts()
    expect(tried.map(({ outcome }) => outcome)).toEqual([...Array(4).fill('deferred'), 'delivered'])
    expect(tried[0]).toMatchObject({ reply: expect.stringContaining('451 try again later') })
    expect(new Set(tried.map(({ message_id: id }) => id)).size).toBe(1)
    expect(headerOf(smtp.mails[0]?.message, 'Message-ID')).toBe(`<${tried[0]?.message_id}>`)
    expect(headerOf(smtp.mails[0]?.message, 'Date')).toBe('Mon, 05 Jan 2026 12:00:00 +0000')
    expect(entries.map(({ level, message }) => [level, message])).toEqual(
      Array(4).fill(['warn', 'an email will be sent again later']),
    )
    expect(errors()).toEqual([])
  })

  it('gives a letter up after three days, logs that without its text, and deletes the text', async () => {
    const smtp = await smtpServer()
    smtp.refuse(1000)
    const { send, deliver, waiting, attempts, clock, errors } = await office(smtp.url)
    await send(codeFor('ada@acme.test'))
    const start = clock.now()
    for (let tries = 0; tries < 200 && (await waiting()).length > 0; tries += 1) {
      await deliver()
      const [letter] = await waiting()
      if (letter) clock.advance({ milliseconds: (letter.due_at as number) - clock.now() })
    }
    expect(await waiting()).toEqual([])
    expect(clock.now() - start).toBeGreaterThan(2.9 * 24 * 3600 * 1000)
    expect(clock.now() - start).toBeLessThanOrEqual(3 * 24 * 3600 * 1000)
    expect((await attempts()).at(-1)).toMatchObject({ outcome: 'given_up', recipient: 'ada@acme.test' })
    expect(errors()).toEqual([
      {
        level: 'error',
        message: 'an email could not be delivered',
        fields: {
          notice: 'email_verification',
          to: 'ada@acme.test',
          tries: (await attempts()).length,
          reason: expect.stringContaining('451'),
        },
      },
    ])
    expect(JSON.stringify(errors())).not.toContain('4711')
  })

  it('gives up at once if the mail server rejects a letter permanently, and continues with the others', async () => {
    const smtp = await smtpServer()
    smtp.refuseRecipient('nobody@acme.test', '550 no\0such\u0001user')
    const { send, deliver, waiting, attempts, errors } = await office(smtp.url)
    await send(codeFor('nobody@acme.test'))
    await send(codeFor('ada@acme.test'))
    await deliver()
    expect(smtp.mails.map(({ to }) => to)).toEqual([['ada@acme.test']])
    expect(await waiting()).toEqual([])
    const lost = (await attempts()).filter(({ outcome }) => outcome === 'given_up')
    expect(lost).toMatchObject([
      { recipient: 'nobody@acme.test', reply: expect.stringContaining('550 no such user') },
    ])
    expect(errors()).toHaveLength(1)
  })

  it('does not send a code that is good no more', async () => {
    const smtp = await smtpServer()
    const { send, deliver, waiting, attempts, clock } = await office(smtp.url)
    await send({ ...codeFor('ada@acme.test'), goodForSeconds: 600 })
    clock.advance({ seconds: 601 })
    await deliver()
    expect(smtp.mails).toEqual([])
    expect(await waiting()).toEqual([])
    expect(await attempts()).toMatchObject([{ outcome: 'given_up', reply: 'it has expired' }])
  })

  it('delays no letter behind a flood of letters of another account', async () => {
    const smtp = await smtpServer()
    const { send, deliver } = await office(smtp.url)
    for (let count = 0; count < 60; count += 1) await send(codeFor(`user${count}@acme.test`))
    await send({ ...codeFor('rex@rival.test'), account: paperAccount('b'.repeat(32)) })
    await deliver()
    const order = smtp.mails.map(({ to }) => to[0])
    expect(order).toHaveLength(61)
    expect(order.indexOf('rex@rival.test')).toBeLessThan(4)
  })

  it('loses nothing while no mail server is there, and leaves most letters untried', async () => {
    const first = await startSmtpServer()
    await first.close()
    const { send, deliver, waiting, clock } = await office(first.url)
    const people = Array.from({ length: 40 }, (_, index) => `user${index}@acme.test`)
    for (const address of people) await send(codeFor(address))
    await deliver()
    const left = await waiting()
    expect(left).toHaveLength(40)
    expect(left.filter(({ attempts }) => (attempts as number) > 0).length).toBeLessThanOrEqual(4)
    const smtp = await opened(startSmtpServer(first.port))
    clock.advance({ seconds: 15 })
    await deliver()
    expect(smtp.mails.map(({ to }) => to[0]).toSorted()).toEqual(people.toSorted())
    expect(await waiting()).toEqual([])
  })

  it('uses few connections, again and again', async () => {
    const smtp = await smtpServer()
    const { send, deliver } = await office(smtp.url)
    for (let count = 0; count < 60; count += 1) await send(codeFor(`user${count}@acme.test`))
    await deliver()
    expect(smtp.mails).toHaveLength(60)
    expect(smtp.connections()).toBeLessThanOrEqual(4)
    await send(codeFor('late@acme.test'))
    await deliver()
    expect(smtp.mails).toHaveLength(61)
    expect(smtp.connections()).toBeLessThanOrEqual(4)
  })

  it('is emptied by one of several processes at a time, so that no recipient gets a letter twice', async () => {
    const smtp = await smtpServer()
    const { store, send, clock, another, post, waiting } = await office(smtp.url)
    const processes = [post, another()].map((one) => {
      const leases = createLeases(store, clock, createTestLog().log)
      const scheduler = createScheduler({ leases, store, clock, log: createTestLog().log })
      for (const job of one.jobs) scheduler.add(job)
      scheduler.start()
      return { leases, scheduler }
    })
    for (let count = 0; count < 50; count += 1) {
      await send(codeFor(`user${count}@acme.test`))
      for (const { scheduler } of processes) scheduler.wake('mail')
    }
    await eventually(
      async () => (await waiting()).length,
      (count) => count === 0,
    )
    for (const { scheduler, leases } of processes) {
      await scheduler.stop()
      await leases.stop()
    }
    expect(new Set(smtp.mails.map(({ to }) => to[0])).size).toBe(50)
    expect(smtp.mails).toHaveLength(50)
  })

  it('begins no letter after the stop signal, and keeps letters with an unknown result', async () => {
    const smtp = await smtpServer()
    smtp.fallSilent()
    const { send, deliver, waiting } = await office(smtp.url)
    for (let count = 0; count < 10; count += 1) await send(codeFor(`user${count}@acme.test`))
    const stop = new AbortController()
    const delivering = deliver(stop.signal)
    await eventually(
      () => smtp.mails.length,
      (count) => count === 4,
    )
    stop.abort()
    await delivering
    expect(smtp.mails).toHaveLength(4)
    const left = await waiting()
    expect(left).toHaveLength(10)
    expect(left.every(({ attempts }) => attempts === 0)).toBe(true)
  })

  it('sends the others although one letter cannot be read, and gives that up in the end', async () => {
    const smtp = await smtpServer()
    const { store, send, deliver, waiting, attempts, clock } = await office(smtp.url)
    await send(codeFor('ada@acme.test'))
    await store.writeUnrecorded([
      { sql: `UPDATE work SET payload = replace(payload, '"sealed":"', '"sealed":"spoiled')`, params: [] },
    ])
    await send(codeFor('uli@acme.test'))
    await deliver()
    expect(smtp.mails.map(({ to }) => to)).toEqual([['uli@acme.test']])
    expect(await waiting()).toMatchObject([
      { payload: expect.stringContaining('ada@acme.test'), attempts: 1 },
    ])
    clock.advance({ hours: 72 })
    await deliver()
    expect(await waiting()).toEqual([])
    expect((await attempts()).at(-1)).toMatchObject({
      recipient: 'ada@acme.test',
      outcome: 'given_up',
      reply: expect.stringContaining('could not be written'),
    })
  })

  it('forgets attempts after a month', async () => {
    const { send, deliver, post, attempts, clock } = await office()
    await send(codeFor('ada@acme.test'))
    await deliver()
    clock.advance({ hours: 30 * 24 })
    await send(codeFor('uli@acme.test'))
    await deliver()
    clock.advance({ hours: 2 * 24 })
    await post.tidying.run(new AbortController().signal, { sql: '', params: [] })
    expect(await attempts()).toMatchObject([{ recipient: 'uli@acme.test' }])
  })
})
