// Emails in the language of the recipient, from the record of the user to the mailbox.
import { afterAll, beforeEach, expect, it } from 'vitest'
import { subjectOf, textOf } from '../support/servers/outbox.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const anySmtp = startSmtpServer()

/** Subject and parts of a message, decoded. */
const readMail = (message: string) => {
  const [head = ''] = message.split('\r\n\r\n')
  const [, kind, boundary] = /(multipart\/\w+);\s+boundary="([^"]+)"/.exec(head) ?? []
  const parts = message.split(`--${boundary}`).slice(1, -1)
  const decoded = parts.map((part) => {
    const [, type, charset] = /Content-Type: ([^;]+); charset=(\S+)/.exec(part) ?? []
    return { type, charset, text: textOf(part).replaceAll('\r\n', '\n').trim() }
  })
  return { subject: subjectOf(message), kind, parts: decoded }
}

describeAnyEngine('emails', (engine) => {
  let smtp: SmtpServer
  const world = useWorld(engine, undefined, async () => ({ smtpUrl: (await anySmtp).url }))

  beforeEach(async () => {
    smtp = await anySmtp
    smtp.mails.splice(0)
  })

  let count = 0
  const welcomeIn = async (account: TestAccount, fields: Record<string, unknown> = {}) => {
    count += 1
    const email = `reader${count}@mail.test`
    await world.user(account, { first_name: 'Zoë', last_name: 'Groß', username: email, email, ...fields })
    await world.deliverMail()
    const mails = smtp.mails.filter(({ to }) => to.includes(email))
    expect(mails).toHaveLength(1)
    return { email, ...readMail(mails[0]?.message ?? '') }
  }

  it('are German, in text and HTML, for a user with that language', async () => {
    const account = await world.account(undefined, { language: 'en-US' })
    const { email, ...mail } = await welcomeIn(account, { language: 'de-DE' })
    const sentence = `ein Administrator hat im Konto ${account.name} einen Benutzer für Sie angelegt.`
    const without = 'Ihr Administrator teilt Ihnen mit, wie Sie sich anmelden.'
    expect(mail).toEqual({
      subject: `Ihr Benutzer im Konto ${account.name}`,
      kind: 'multipart/alternative',
      parts: [
        {
          type: 'text/plain',
          charset: 'utf-8',
          text: [
            'Guten Tag Zoë Groß,',
            sentence,
            without,
            '',
            `Benutzername: ${email}\nRealm: ${account.realm}`,
          ].join('\n\n'),
        },
        {
          type: 'text/html',
          charset: 'utf-8',
          text: [
            '<!DOCTYPE html>',
            '<html lang="de"><body>',
            '<p>Guten Tag Zoë Groß,</p>',
            `<p>${sentence}</p>`,
            `<p>${without}</p>`,
            '<p><a href=""></a></p>',
            `<p>Benutzername: ${email}<br>Realm: ${account.realm}</p>`,
            '</body></html>',
          ].join('\n'),
        },
      ],
    })
  })

  it('use the language of the account for a user without one, and English for other languages', async () => {
    const german = await world.account(undefined, { language: 'de-AT' })
    expect((await welcomeIn(german)).subject).toBe(`Ihr Benutzer im Konto ${german.name}`)
    for (const language of ['en-GB', 'fr-FR'])
      expect((await welcomeIn(german, { language })).subject).toBe(`Your user in the account ${german.name}`)
    const french = await world.account(undefined, { language: 'fr-FR' })
    expect((await welcomeIn(french)).subject).toBe(`Your user in the account ${french.name}`)
  })

  it('go to each admin of an account in the language of that admin', async () => {
    const account = await world.account(undefined, { language: 'de-DE' })
    const [german, english] = ['chefin@mail.test', 'chief@mail.test']
    await world.admin(account, { email: german, send_email_on_creation: false })
    await world.admin(account, { email: english, language: 'en-us', send_email_on_creation: false })
    const name = `Filiale von ${account.name}`
    expect(await world.operator.put(account.path, { name })).toSucceed()
    await world.deliverMail()
    const subjects = smtp.mails.map(({ to, message }) => [to[0], readMail(message).subject])
    expect(Object.fromEntries(subjects)).toMatchObject({
      [german]: `Neues Konto ${name}`,
      [english]: `New account ${name}`,
    })
  })

  it('have the texts that a reseller sets in all languages', async () => {
    const account = await world.account(undefined, { language: 'de-DE' })
    const path = `${account.path}/notifications/new_user`
    expect(await world.operator.post(path, { subject: 'Ahoi {{user.first_name}}' })).toSucceed()
    const html = { headers: { 'content-type': 'text/html' }, body: '<p>Ahoi</p>' }
    expect(await world.operator.post(path, undefined, html)).toSucceed()
    for (const language of ['de-DE', 'en-US']) {
      const mail = await welcomeIn(account, { language })
      expect(mail.subject).toBe('Ahoi Zoë')
    }
  })

  it('are shown and sampled in the language of the account, and sampled in another on request', async () => {
    const account = await world.account(undefined, { language: 'de-DE' })
    const path = `${account.path}/notifications/task_finished`
    const { data } = await world.operator.get(path)
    expect(data.subject).toBe('Aufgabe {{task.category}}/{{task.action}} beendet: {{task.status}}')
    expect(data.macros['task.status'].example).toBe('einige Zeilen fehlgeschlagen')
    const text = await world.operator.get(path, { headers: { accept: 'text/plain' } })
    expect(text.text).toContain('Öffnen Sie die Aufgabe')
    const to = { email_addresses: ['probe@mail.test'] }
    const german = await world.operator.post(`${path}/preview`, { to })
    expect(german.data.subject).toBe('Aufgabe number_management/add beendet: einige Zeilen fehlgeschlagen')
    const english = await world.operator.post(`${path}/preview`, { to, language: 'en' })
    expect(english.data.subject).toBe('Task number_management/add finished: some rows failed')
    await world.deliverMail()
    expect(smtp.mails.map(({ message }) => readMail(message).subject).toSorted()).toEqual([
      german.data.subject,
      english.data.subject,
    ])
    // A client that sends back what it read keeps the built-in texts of all languages.
    expect(await world.operator.post(path, { ...data, reply_to: 'hilfe@mail.test' })).toSucceed()
    expect((await world.operator.post(`${path}/preview`, { to, language: 'en' })).data.subject).toBe(
      english.data.subject,
    )
  })
})

afterAll(async () => (await anySmtp).close())
