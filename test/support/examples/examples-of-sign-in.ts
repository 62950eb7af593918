// Examples of sign-ins that need an authenticator, an app with codes or an email.

import { eventually } from '../run/eventually.ts'
import { mailsTo, textOf } from '../servers/outbox.ts'
import { createAuthenticator } from '../world/authenticator.ts'
import { credentialsOf, type World } from '../world/world.ts'
import { onAccount, type Recorder } from './example-recorder.ts'

const onUser = `${onAccount}/users/{user_id}`

export const recordSignIns = async (world: World, { record }: Recorder) => {
  const { anonymous, operator, place } = world
  const account = await world.account(world.reseller, { name: 'A new customer', realm: 'sign-in.test' })
  const admin = await world.admin(account)

  const mailTo = async (address: string) => {
    await world.deliverMail()
    return textOf((await mailsTo(place.dataDir, address)).at(-1) ?? '')
  }

  const passkeys = async () => {
    const user = await world.user(account, { username: 'ann' })
    const ids = { account_id: account.id, user_id: user.id }
    const key = createAuthenticator()
    const making = (await user.put(`${user.path}/passkeys/options`, {})).data
    const made = { name: 'A passkey', credential: key.create(making) }
    await record(user, `PUT ${onUser}/passkeys`, ids, { data: made })
    const asking = (await anonymous.put('/v2/multi_factor/passkeys/options', {})).data
    await record(anonymous, 'PUT /v2/multi_factor/passkeys', {}, { data: { credential: key.get(asking) } })
  }

  const secondFactor = async () => {
    const user = await world.user(account, { username: 'bob', password: 'bob-secret' })
    const ids = { account_id: account.id, user_id: user.id }
    const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
    await operator.put(`${account.path}/multi_factor`, provider)
    await operator.post(`${account.path}/security`, {
      auth_modules: { cb_user_auth: { multi_factor: { enabled: true } } },
    })
    const signIn = { credentials: credentialsOf('bob', 'bob-secret'), account_realm: account.realm }
    await anonymous.put('/v2/multi_factor/qrcode', signIn)
    await anonymous.put('/v2/user_auth', { ...signIn, multi_factor_response: '000000' })
    const { data } = await eventually(
      () => admin.get(`${account.path}/multi_factor/attempts`),
      (answer) => answer.data.length > 0,
    )
    const attempt = { ...ids, attempt_id: data[0].id }
    await record(admin, `GET ${onAccount}/multi_factor/attempts/{attempt_id}`, attempt)
    await record(admin, `DELETE ${onUser}/qrcode`, ids)
    await operator.delete(`${account.path}/security`)
  }

  const recovery = async () => {
    const email = `carl@${account.realm}`
    await world.user(account, { username: 'carl', email, send_email_on_creation: false })
    await world.configure('crossbar', { recovery_ui_hosts: ['ui.example.test'] })
    const wish = { username: 'carl', account_realm: account.realm, ui_url: 'https://ui.example.test/' }
    await anonymous.put('/v2/user_auth/recovery', wish)
    const [, resetId = ''] = /recovery=([0-9a-f]+)/.exec(await mailTo(email)) ?? []
    await record(anonymous, 'POST /v2/user_auth/recovery', {}, { data: { reset_id: resetId } })
  }

  const sender = async () => {
    const email = 'office@sign-in.test'
    const emails = `${account.path}/whitelabel/emails`
    await operator.put(`${account.path}/whitelabel`, { domain: 'brand.sign-in.test' })
    const made = await operator.put(emails, { email })
    const [, code = ''] = /\b(\d{4})\. It is valid/.exec((await mailTo(email)).replaceAll('\r\n', ' ')) ?? []
    const ids = { account_id: account.id, email_id: String(made.body.metadata.id) }
    await record(admin, `POST ${onAccount}/whitelabel/emails/{email_id}/verify`, ids, { data: { code } })
  }

  await passkeys()
  await secondFactor()
  await recovery()
  await sender()
}
