import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { declarationsOf } from '../../../src/areas/assemble.ts'
import { emailVerificationNotice } from '../../../src/areas/brand/whitelabel/notices.ts'
import { areas } from '../../../src/areas/index.ts'
import type { AccountDoc, AccountHidden, AccountRecord } from '../../../src/auth/identity.ts'
import { createKeyring } from '../../../src/auth/keyring.ts'
import { createQueue } from '../../../src/jobs/queue.ts'
import type { ScheduledJob } from '../../../src/jobs/scheduler.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createMailDelivery, mailSchedule } from '../../../src/mail/delivery.ts'
import { createMail, type MailOrder, recipient } from '../../../src/mail/mail.ts'
import { createNotices, type Macros } from '../../../src/mail/notices.ts'
import { noSenders, type Senders } from '../../../src/mail/senders.ts'
import { folderTransport, smtpTransport } from '../../../src/mail/transports.ts'
import { createCalls } from '../../../src/outgoing/calls.ts'
import { createSettings } from '../../../src/settings/settings.ts'
import { ChangeSet } from '../../../src/storage/change-set.ts'
import { StoredRecord } from '../../../src/storage/records.ts'
import { createStore } from '../../../src/storage/store.ts'
import { createTestClock } from '../run/clock.ts'
import { createTestLog } from '../run/log.ts'
import { type Engine, openTestDatabase } from './databases.ts'

const keyring = createKeyring(Buffer.alloc(32, 7))

/** An account that is not stored: email needs only its name and its position in the tree. */
export const paperAccount = (id: string, tree: readonly string[] = []): AccountRecord =>
  new StoredRecord<AccountDoc, AccountHidden>({
    accountId: id,
    kind: 'account',
    id,
    ownerId: '',
    sortKey: '',
    created: 0,
    modified: 0,
    revision: '',
    docText: JSON.stringify({ name: 'Acme', realm: 'acme.test' }),
    hiddenText: JSON.stringify({ tree }),
    rowText: '{}',
  })

export const acme = paperAccount('a'.repeat(32))

interface Setting {
  /** Undefined: emails become files. */
  smtpUrl?: string
  senders?: Partial<Senders>
}

/** A store with a mail queue, and the sender that empties it. */
export const openPostOffice = async (engine: Engine, { smtpUrl, senders }: Setting = {}) => {
  const { db, reopen, close } = await openTestDatabase(engine)
  const folder = await mkdtemp(join(tmpdir(), 'crosspoint-mail-'))
  const clock = createTestClock()
  const { log, entries, errors } = createTestLog()
  const store = createStore(db, clock)
  const mail = createMail({
    store,
    keyring,
    notices: createNotices(declarationsOf(areas).notices),
  })

  const transportTo = (url: string | undefined) =>
    url
      ? smtpTransport(url, createCalls({ metrics: createMetrics() }))
      : folderTransport(join(folder, 'outbox'), { clock, daysKept: async () => 31 })

  const postOn = (on: typeof store, url = smtpUrl) => {
    const queue = createQueue({ store: on, log, metrics: createMetrics() })
    const post = createMailDelivery({
      metrics: createMetrics(),
      store: on,
      keyring,
      settings: createSettings(on.records, 'test'),
      senders: { ...noSenders, ...senders },
      transport: transportTo(url),
      documentOf: async ({ id }) => Buffer.from(`document ${id}`),
      log,
    })
    const [letters, ...others] = mailSchedule(post, queue) as [ScheduledJob, ...ScheduledJob[]]
    return { letters, jobs: [letters, ...others], tidying: post.tidying, close: post.close }
  }
  const posts = [postOn(store)]
  const [post] = posts as [ReturnType<typeof postOn>]

  const never = new AbortController().signal

  return {
    store,
    mail,
    post,
    clock,
    outbox: join(folder, 'outbox'),
    entries,
    errors,
    /** Another process of the same store, perhaps with another mail server. */
    another(url = smtpUrl) {
      const other = postOn(createStore(reopen(), clock), url)
      posts.push(other)
      return other
    },
    /** Commits the emails of a notice with a change. */
    async send<M extends Macros>(order: MailOrder<M>) {
      const set = new ChangeSet({ requestId: 'test' })
      set.record({ accountId: order.account.id, kind: 'note', id: 'x', action: 'created' })
      await mail.notify(set, order)
      await store.commit(set)
    },
    deliver: (signal = never) => post.letters.run(signal, { sql: '', params: [] }),
    isAnyDue: () => post.letters.due?.(),
    waiting: () => store.all("SELECT * FROM work WHERE state = 'waiting' ORDER BY id"),
    settled: () => store.all("SELECT * FROM work WHERE state <> 'waiting' ORDER BY id"),
    attempts: () => store.all('SELECT * FROM mail_attempts ORDER BY id'),
    async close() {
      for (const one of posts) one.close()
      await close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type PostOffice = Awaited<ReturnType<typeof openPostOffice>>

/** A verification code for an address. */
export const codeFor = (
  address: string,
  code = '4711',
): MailOrder<typeof emailVerificationNotice.macros> => ({
  notice: emailVerificationNotice,
  account: acme,
  to: [recipient(address, acme)],
  values: { email: address, code, 'code.minutes': '60' },
})
