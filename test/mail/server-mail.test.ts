import { expect, it, vi } from 'vitest'
import { startServer } from '../../src/compose.ts'
import { createTestClock } from '../support/clock.ts'
import { makePlace } from '../support/databases.ts'
import { createTestLog } from '../support/log.ts'
import { textOf } from '../support/outbox.ts'
import { startSmtpServer } from '../support/smtp-server.ts'

it('a server with an SMTP URL sends its mails there, also those that a stop finds under way', async () => {
  const smtp = await startSmtpServer()
  const place = await makePlace('sqlite')
  const { log, errors } = createTestLog()
  const config = {
    host: '127.0.0.1',
    port: 0,
    dataDir: place.dataDir,
    databaseUrl: undefined,
    masterAccount: 'master',
    masterRealm: 'master.localhost',
    adminUsername: 'admin@master.test',
    adminPassword: 'secret',
    smtpUrl: smtp.url,
    logLevel: 'info' as const,
  }
  const server = await startServer(config, { clock: createTestClock(), log })
  const asked = await fetch(`http://127.0.0.1:${server.port}/v2/user_auth/recovery`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      data: { username: 'admin@master.test', account_name: 'master', ui_url: 'https://ui.test/login' },
    }),
  })
  expect(asked.status).toBe(201)
  await server.stop()
  await vi.waitFor(() => expect(smtp.mails).toHaveLength(1))
  const [mail] = smtp.mails
  expect(mail).toMatchObject({ from: 'crosspoint@localhost', to: ['admin@master.test'] })
  expect(textOf(mail?.message ?? '')).toMatch(/https:\/\/ui\.test\/login\?recovery=[0-9a-f]{137}\s/)
  expect(errors()).toEqual([])
  await smtp.close()
  await place.remove()
})
