import { beforeEach, expect, it } from 'vitest'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('The verification of a whitelabel email', (engine) => {
  const world = useWorld(engine)
  const list = () => `${world.reseller.path}/whitelabel/emails`
  let made = 0
  let email = ''
  let id = ''
  let path = ''

  beforeEach(async () => {
    made += 1
    email = `help${made}@reseller.test`
    const answer = await world.ross.put(list(), { email })
    expect(answer).toSucceedWith('A verification code was sent to the email address')
    id = String(answer.body.metadata.id)
    path = `${list()}/${id}`
  })

  /** The codes that were mailed to the address, oldest first. */
  const codes = async () => {
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, email)
    return mails.map(
      (mail) => /\b(\d{4})\. It is valid/.exec(textOf(mail).replaceAll('\r\n', ' '))?.[1] ?? mail,
    )
  }

  const verified = async () => (await world.ross.get(path)).body.metadata.verified

  const verify = (code: string | undefined) => world.ross.post(`${path}/verify`, { code })

  it('PUT of a valid email: `verified` is false, a 4-digit code is sent to the address', async () => {
    expect(await verified()).toBe(false)
    expect(await codes()).toEqual([expect.stringMatching(/^\d{4}$/)])
  })

  it('PUT of none: no record, and no code', async () => {
    expect(await world.unchanged(() => world.ross.put(list(), { email: 'nobody' }))).toBreak({
      email: ['wrong_format'],
    })
  })

  it('verify with the code: `verified` is true, the record is returned', async () => {
    const [code] = await codes()
    const answer = await verify(code)
    expect(answer).toSucceedWith({ id, email })
    expect(answer.body.metadata.verified).toBe(true)
    expect(await verified()).toBe(true)
  })

  it('verify with another code: unchanged, a new code is sent, 400 validation error', async () => {
    const [code] = await codes()
    const answer = await verify(code === '1234' ? '4321' : '1234')
    expect(answer).toFailWith(400, 'validation error', {
      code: { invalid: { message: 'Invalid verification code: a new code was sent' } },
    })
    expect(await verified()).toBe(false)
    const [, next, ...more] = await codes()
    expect(more).toEqual([])
    expect(await verify(next)).toSucceedWith({ id, email })
  })

  it.each(['unverified', 'verified'])(
    'DELETE of one that is %s: removed, metadata.deleted true',
    async (state) => {
      if (state === 'verified') await verify((await codes())[0])
      const answer = await world.ross.delete(path)
      expect(answer).toSucceedWith({ id, email })
      expect(answer.body.metadata).toMatchObject({ verified: state === 'verified', deleted: true })
      expect(await world.ross.get(path)).toFailWith(404, 'bad_identifier')
    },
  )
})
