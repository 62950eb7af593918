// Settings of a process for the first admin, when they apply, and the first sign-in.
import { hostname } from 'node:os'
import { expect, it } from 'vitest'
import { obtainServerKey } from '../../src/auth/key-handover.ts'
import { keyedMark } from '../../src/auth/keyring.ts'
import { startServer } from '../../src/compose.ts'
import { createTestLog } from '../support/run/log.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('the password of the first start', (engine) => {
  const world = useWorld(engine)

  /** The messages of a further start of the same store. */
  const messagesWith = async (adminPassword: string | undefined) => {
    const { log, entries } = createTestLog()
    const server = await startServer({ ...world.config, adminPassword }, { clock: world.clock, log })
    await server.stop()
    return entries.filter(({ message }) => message.includes('CROSSPOINT_ADMIN_PASSWORD'))
  }

  const logIn = (password: string) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf('operator', password),
      account_name: 'master',
    })

  /** A password that the server can distinguish from the first: about one in 4,000 counts as equal. */
  const another = async () => {
    const key = await obtainServerKey(world.server.store, world.config.dataDir)
    const first = keyedMark(key, 'operator-secret')
    return ['another-secret', 'a-third-secret'].find((text) => keyedMark(key, text) !== first)
  }

  it('is reported as ignored when a later start names another one', async () => {
    const password = await another()
    expect(await messagesWith(password)).toEqual([
      {
        level: 'warn',
        message:
          'CROSSPOINT_ADMIN_PASSWORD is ignored: the admin got another password at the first start. To set a new one, run `crosspoint account admin --reset USERNAME`',
        fields: undefined,
      },
    ])
    expect(await logIn(String(password))).toFailWith(401, 'invalid_credentials')
    expect(await logIn('operator-secret')).toSucceed()
  })

  it('is ignored silently when it is the same or not set', async () => {
    expect(await messagesWith('operator-secret')).toEqual([])
    expect(await messagesWith(undefined)).toEqual([])
  })

  it('is not kept, nor anything that it could be looked up by', async () => {
    const [start] = await world.server.store.all<{ doc: string; hidden: string }>(
      "SELECT doc, hidden FROM records WHERE kind = 'first_start'",
    )
    expect(JSON.parse(start?.doc ?? '')).toEqual({})
    const { passwordMark, ...rest } = JSON.parse(start?.hidden ?? '')
    expect(rest).toEqual({})
    expect(passwordMark).toBeLessThan(4096)
    expect(JSON.stringify(await world.snapshot())).not.toContain('operator-secret')
  })
})

describeAnyEngine('the link of the first start', (engine) => {
  const world = useWorld(engine, undefined, async () => ({ adminPassword: undefined }))

  it('is refused after half an hour', async () => {
    world.clock.advance({ minutes: 30 })
    const resetId = world.server.firstAdmin?.generated?.resetId
    const answer = await world.unchanged(() =>
      world.anonymous.post('/v2/user_auth/recovery', { reset_id: resetId }),
    )
    expect(answer).toFailWith(403, 'forbidden', {
      message: 'forbidden',
      reason: 'reset id expired',
      cause: expect.stringMatching(/^\d{11}$/),
    })
  })
})

describeAnyEngine('the host name that the first start listens at', (engine) => {
  // `127.1` is a name to Node, and resolves to this machine everywhere.
  const world = useWorld(engine, undefined, async () => ({ host: '127.1' }))

  it('is added to public_hosts', async () => {
    const { data } = await world.operator.get('/v2/system_configs/crossbar/default')
    const { public_hosts: hosts } = data as { public_hosts: string[] }
    expect(hosts).toContain('127.1')
    expect(hosts.every((host) => host === '127.1' || host === hostname())).toBe(true)
  })
})
