// No mail is lost: not when the server dies between an answer and its mail, and not while the mail server is away.
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const people = Array.from({ length: 12 }, (_, index) => `person${index}@mail.test`)

const messageIdOf = (message: string) => /^Message-ID: (.*)\r$/m.exec(message)?.[1]

describeEngines('a server that sends mail', (engine) => {
  let place: Place
  let smtp: SmtpServer

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    smtp = await startSmtpServer()
  })

  afterEach(async () => {
    await smtp.close()
    await place.remove()
  })

  const start = () =>
    startServerProcess(
      { CROSSPOINT_DATABASE_URL: place.databaseUrl, CROSSPOINT_SMTP_URL: smtp.url },
      place.dataDir,
    )

  const open = async (server: ServerProcess) => {
    const session = await openSession(server)
    await freeRequests(session)
    return session
  }

  /** Makes users who are welcomed by mail. The server answers, although no mail can be delivered yet. */
  const welcomeAll = ({ admin, masterId }: Session) =>
    Promise.all(
      people.map(async (email) => {
        const user = { first_name: 'A', last_name: 'B', username: email, email }
        const answer = await admin.put(`/v2/accounts/${masterId}/users`, user)
        expect(answer.status, answer.text).toBe(201)
      }),
    )

  const welcomed = () => [
    ...new Set(
      smtp.mails
        .filter(({ message }) => message.includes('an administrator created a user for you'))
        .flatMap(({ to }) => to),
    ),
  ]

  const arriveAll = () =>
    eventually(
      () => welcomed().length,
      (count) => count === people.length,
    )

  it('delivers after kill -9 what it owed', async () => {
    const server = await start()
    const session = await open(server)
    // It takes mails without ever saying so: none counts as delivered, and no attempt ends before the kill.
    smtp.fallSilent()
    await welcomeAll(session)
    const recovery = { username: people[0], account_name: 'master', ui_url: 'https://localhost/login' }
    expect((await session.admin.put('/v2/user_auth/recovery', recovery)).status).toBe(201)
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
    session.close()
    const before = smtp.mails.splice(0)

    smtp.speak()
    const next = await start()
    await arriveAll()
    await eventually(
      () => smtp.mails.filter(({ message }) => message.includes('recovery=')).length,
      (count) => count === 1,
    )
    // Letters that had arrived already are the same when they come again.
    const known = new Set(smtp.mails.map(({ message }) => messageIdOf(message)))
    for (const { message } of before) expect(known).toContain(messageIdOf(message))
    expect(smtp.mails).toHaveLength(people.length + 1)
    expect(await next.end()).toBe(0)
  })

  it('delivers once the mail server is back, and answers while it is away', async () => {
    const server = await start()
    const session = await open(server)
    await smtp.close()
    await welcomeAll(session)
    await eventually(server.errors, (text) => text.includes('an email will be sent again later'))
    expect(welcomed()).toEqual([])
    smtp = await startSmtpServer(smtp.port)
    await arriveAll()
    expect(smtp.mails).toHaveLength(people.length)
    session.close()
    expect(await server.end()).toBe(0)
  })
})
