// How strong a password must be, how long it lasts, and what a sign-in costs.
import { expect, it } from 'vitest'
import { keyLayers } from '../../src/auth/credentials.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('passwords', (engine) => {
  const world = useWorld(engine, ({ configure }) => configure('crossbar.auth', { token_auth_expiry_s: 0 }))
  const strong = 'Right-Horse-7'

  const logIn = (username: string, password: string, realm: string) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf(username, password),
      account_realm: realm,
    })

  it('must be strong where the system asks for it, and never come back in the refusal', async () => {
    await world.configure('auth.password', { should_enforce_strength: true })
    const user = await world.user(world.acme)
    await world.unchanged(async () => {
      const weak = await world.ada.patch(user.path, { password: 'summer2026' })
      expect(weak).toFailWith(400, 'validation error', {
        password: {
          insecure: {
            message: 'The password is not secure enough',
            cause: 'an upper-case letter',
            details: ['an upper-case letter', 'a special character'],
          },
        },
      })
      expect(weak.text).not.toContain('summer2026')
      expect(await world.ada.put(`${world.acme.path}/users`, { password: 'Ab1!' })).toBreak({
        first_name: ['required'],
        last_name: ['required'],
        password: ['insecure'],
      })
      const digest = { credentials: credentialsOf(user.username, 'x') }
      expect(await world.ada.patch(user.path, digest)).toBreak({ credentials: ['insecure'] })
    })
    expect(await world.ada.patch(user.path, { password: strong })).toSucceed()
    await world.configure('auth.password', { should_enforce_strength: false })
  })

  it('must be strong if a reseller requires it, unless a setting of the account overrides that', async () => {
    const config = (path: string) => `${path}/configs/auth.password`
    expect(await world.ross.post(config(world.reseller.path), { should_enforce_strength: true })).toSucceed()
    const user = await world.user(world.acme)
    expect(await world.ada.patch(user.path, { password: 'weak' })).toBreak({ password: ['insecure'] })
    await world.ross.post(config(world.acme.path), { should_enforce_strength: false })
    expect(await world.ada.patch(user.path, { password: 'weak' })).toSucceed()
    await world.ross.delete(config(world.reseller.path))
    await world.ross.delete(config(world.acme.path))
  })

  it('must be new where that is asked for', async () => {
    await world.configure('auth.password', { should_prevent_reuse: true })
    const user = await world.user(world.acme, { password: strong })
    const again = await world.unchanged(() => world.ada.patch(user.path, { password: strong }))
    expect(again).toBreak({ password: ['insecure'] })
    expect(await world.ada.patch(user.path, { password: `${strong}!` })).toSucceed()
    await world.configure('auth.password', { should_prevent_reuse: false })
  })

  it('run out after a while where that is asked for', async () => {
    const account = await world.account()
    const user = await world.user(account, { username: 'old', password: strong })
    expect((await user.get(user.path)).body.metadata).toMatchObject({ is_password_expired: false })
    await world.configure('crossbar', { password_expiry_s: 600 })
    const fresh = (await user.get(user.path)).body.metadata
    expect(fresh).toMatchObject({ is_password_expired: false })
    expect(fresh.password_expiration_timestamp).toBe((fresh.created as number) + 600)
    expect(await logIn('old', strong, account.realm)).toSucceed()
    world.clock.advance({ seconds: 600 })
    expect((await user.get(user.path)).body.metadata).toMatchObject({ is_password_expired: true })
    expect(await logIn('old', strong, account.realm)).toFailWith(401, 'invalid_credentials', {
      message: 'password expired',
    })
    expect(await logIn('old', 'wrong', account.realm)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await user.patch(user.path, { password: `${strong}!` })).toSucceed()
    expect(await logIn('old', `${strong}!`, account.realm)).toSucceed()
  })
})

describeAnyEngine('passwords that are wrong', (engine) => {
  const world = useWorld(engine, undefined, undefined, { layers: keyLayers })

  it('cost the same password hashes to check if there is no such account', async () => {
    const credentials = credentialsOf('ada', 'wrong')
    const hashes = async () => {
      const { text } = await world.anonymous.get('/metrics')
      const counts = [...text.matchAll(/^crosspoint_password_hash_duration_seconds_count\S* (\d+)$/gm)]
      return counts.reduce((sum, [, count]) => sum + Number(count), 0)
    }
    const hashesFor = async (realm: string) => {
      const before = await hashes()
      const answer = await world.anonymous.put('/v2/user_auth', { credentials, account_realm: realm })
      expect(answer).toFailWith(401, 'invalid_credentials')
      return (await hashes()) - before
    }
    // Hashing a password takes most of the time of either response.
    const known = await hashesFor(world.acme.realm)
    expect(known).toBeGreaterThan(0)
    expect(await hashesFor('no.such.realm')).toBe(known)
  })
})
