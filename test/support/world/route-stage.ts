// Records and requests with which every route can succeed: for walks over all routes.
import { expect } from 'vitest'
import type { Route } from '../../../src/http/route.ts'
import type { Answer, Client } from './client.ts'
import {
  nameOf,
  type PathIds,
  pathWith,
  requestFor,
  type Samples,
  sampleApps,
  variablesOf,
} from './route-samples.ts'
import type { World } from './world.ts'

export const onAccount = '/v2/accounts/{account_id}'

/** Asks for a task that runs. */
export const isStop = (route: string | undefined) => route?.endsWith('/tasks/{task_id}/stop') === true

/** Has nothing to do on an ordinary account. */
export const demotion = `DELETE ${onAccount}/reseller`

/** Is done once: the ordinary account has what it makes. */
export const branding = `PUT ${onAccount}/whitelabel`

/** Is done once for each app. */
export const installation = `PUT ${onAccount}/apps_store/{app_id}`

/** Is sold by resellers only. */
export const isPlan = (route: string | undefined) => route?.includes('/service_plans') === true

/** Takes away what was assigned. */
export const unassignment = `DELETE ${onAccount}/services/{plan_id}`

/** Finds other records on its stage than most routes do. */
export const hasOwnStage = (route: string) =>
  isStop(route) || isPlan(route) || [demotion, branding, installation, unassignment].includes(route)

const pays = {
  source: { service: 'sample', id: 'given' },
  usage: { type: 'a', quantity: 1, unit: 'b' },
  amount: 10,
}

export interface Stage {
  /** By the variables of paths. */
  ids: PathIds
  /** Paths without an account name the system's provider. */
  systemIds: PathIds
  samples: Samples
}

const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
const photo = {
  headers: { 'content-type': 'image/png' },
  body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
}

const done = async (asking: Promise<Answer>) => {
  const answer = await asking
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer
}

/** A record of each list of an account that the stage does not know, made of the smallest body: their ids, by the variables of their paths. */
export const furtherRecords = async ({ operator, server: { routes } }: World, ids: PathIds) => {
  const further: Record<string, string> = {}
  for (const { method, path } of routes) {
    const list = path.replace(/\/\{\w+\}$/, '')
    const variable = variablesOf(path).at(-1) ?? ''
    const create = routes.find((route) => route.method === 'PUT' && route.path === list)
    if (method !== 'GET' || list !== `${onAccount}/${list.split('/').at(-1)}` || !create || variable in ids)
      continue
    const { data } = requestFor(create)
    further[variable] = String((await done(operator.put(pathWith(create, ids), data))).data.id)
  }
  return further
}

let stages = 0

/** Records of a separate account, so that no route finds records of another one. */
export const setStage = async (world: World, route?: string): Promise<Stage> => {
  const { operator } = world
  const account = await world.account(world.reseller)
  const target = await world.account(world.reseller)
  const user = await world.user(account)
  const phone = await world.device(account, { owner_id: user.id })
  const list = { order: 'allow,deny', cidrs: ['203.0.113.0/24'] }
  const rates = { per_minute: { total_packets: 500 }, per_second: { total_packets: 50 } }
  await done(operator.post(`${account.path}/access_lists`, list))
  await done(operator.post(`${phone.path}/access_lists`, list))
  await done(operator.post(`${account.path}/rate_limits`, { account: rates, device: rates }))
  await done(operator.post(`${phone.path}/rate_limits`, rates))
  await done(
    operator.post(`${account.path}/token_restrictions`, {
      restrictions: { _: { _: { users: [{ rules: { '/': ['GET'] } }] } } },
    }),
  )
  await done(operator.post(`${account.path}/configs/portal`, { theme: 'blue' }))
  await done(operator.post(`${account.path}/security`, { auth_modules: {} }))
  await done(operator.post(`${user.path}/photo`, undefined, photo))
  await done(operator.post('/v2/system_configs/portal', { default: { theme: 'grey' } }))
  const domain = `${account.id}.test`
  if (route !== branding) await done(operator.put(`${account.path}/whitelabel`, { domain }))
  const sender = await done(operator.put(`${account.path}/whitelabel/emails`, { email: `a@${domain}` }))
  if (route === demotion) await done(operator.put(`${account.path}/reseller`, {}))
  for (const place of ['/v2', account.path])
    await done(operator.post(`${place}/notifications/password_recovery`, { subject: 'A way back in' }))
  const { data: factor } = await done(operator.put(`${account.path}/multi_factor`, provider))
  const { data: shared } = await done(operator.put('/v2/multi_factor', provider))
  const { data: rate } = await done(operator.put('/v2/rates', { prefix: 1, rate_cost: 0.1 }))
  const { data: namedKey } = await done(
    operator.put(`${account.path}/api_keys`, { name: 'A sample', scopes: ['*'] }),
  )
  const receiver = { name: 'A sample', uri: 'https://receiver.invalid/', hook: 'sms' }
  const { data: webhook } = await done(operator.put(`${account.path}/webhooks`, receiver))
  const { data: apiKey } = await operator.get(`${world.acme.path}/api_key`)
  const [key] = (await operator.get('/v2/auth/keys')).data
  const plan = { name: 'Plan', plan: {} }
  const { data: sold } = await done(operator.put(`${world.reseller.path}/service_plans`, plan))
  if (route === unassignment) await done(operator.post(`${account.path}/services`, { add: [sold.id] }))
  if (isPlan(route)) await done(operator.put(`${account.path}/reseller`, {}))
  const { data: own } = isPlan(route)
    ? await done(operator.put(`${account.path}/service_plans`, plan))
    : { data: { id: '' } }
  await done(operator.put(`${account.path}/ledgers/credit`, pays))
  const { data: alert } = await done(
    operator.put(`${account.path}/alerts`, {
      title: 'A sample',
      message: 'Nothing is wrong',
      from: [{ type: 'account', value: account.id }],
      to: [{ type: account.id, value: 'all' }],
    }),
  )
  const flow = { module: 'user', data: { id: user.id } }
  const { data: callflow } = await done(
    operator.put(`${account.path}/callflows`, { name: 'A sample', numbers: ['100'], flow }),
  )
  const { data: group } = await done(
    operator.put(`${account.path}/groups`, {
      name: 'A sample',
      endpoints: { [phone.id]: { type: 'device' } },
    }),
  )
  const carrier = { name: 'A sample', rules: ['.*'], gateways: [{ server: 'carrier.invalid' }] }
  const { data: resource } = await done(operator.put(`${account.path}/resources`, carrier))
  const { data: common } = await done(operator.put('/v2/resources', carrier))
  const trunk = { servers: [{ auth: { auth_user: `pbx-${account.id}`, auth_password: 'sample-secret' } }] }
  const { data: connectivity } = await done(operator.put(`${account.path}/connectivity`, trunk))
  await world.configure('apps_store', { apps: sampleApps })
  const app = `${account.path}/apps_store/sample-app`
  if (route !== installation) await done(operator.put(app, {}))
  // Started tasks stay where they are.
  await world.configure('tasks', { max_running: 0 })
  const makeTask = async (place: string) => {
    const made = await done(operator.put(`${place}/tasks?category=number_management&action=list`))
    const id = String(made.body.metadata.id)
    if (isStop(route)) await done(operator.patch(`${place}/tasks/${id}`))
    return id
  }
  // A number that is coming in can be created, activated, changed and released.
  stages += 1
  const number = `+1415${String(5_000_000 + stages)}`
  await done(operator.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}/port`, { my: 1 }))
  const collected = { data: { numbers: [number], my: 2 } }
  const collection = `${onAccount}/phone_numbers/collection`
  const known = {
    task_id: await makeTask(account.path),
    phone_number: number,
    account_id: account.id,
    user_id: user.id,
    device_id: phone.id,
    provider_id: factor.id,
    config_id: 'portal',
    section: 'default',
    schema_name: 'users',
    migration_id: 'recount_services',
    number: '+14155550100',
    key_id: key.id,
    api_key_id: namedKey.id,
    webhook_id: webhook.id,
    sample_id: 'object',
    rate_id: rate.id,
    plan_id: sold.id,
    service_plan_id: own.id,
    alert_id: alert.id,
    callflow_id: callflow.id,
    group_id: group.id,
    app_id: 'sample-app',
    index: '0',
    resource_id: resource.id,
    connectivity_id: connectivity.id,
    domain,
    email_id: String(sender.body.metadata.id),
    notification_id: 'password_recovery',
  }
  const ids = { ...known, ...(await furtherRecords(world, known)) }
  const named = (name: string) => ({ data: { name: `${name} of ${account.id}` } })
  return {
    ids,
    systemIds: { ...ids, task_id: await makeTask('/v2'), provider_id: shared.id, resource_id: common.id },
    samples: {
      ...Object.fromEntries(
        ['PUT', 'POST', 'PATCH', 'DELETE'].map((method) => [`${method} ${collection}`, collected]),
      ),
      [`PUT ${collection}/activate`]: collected,
      'PUT /v2/cdrs': {
        upload: {
          type: 'application/x-ndjson',
          body: JSON.stringify({
            call_id: `leg of ${account.id}`,
            timestamp: 63_934_785_600,
            custom_channel_vars: { account_id: account.id },
          }),
        },
      },
      'POST /v2/edge/reports': {
        data: {
          records: [
            {
              call_id: `reported leg of ${account.id}`,
              timestamp: 63_934_785_600,
              custom_channel_vars: { account_id: account.id },
            },
          ],
        },
      },
      'PUT /v2/accounts': named('New'),
      [`PUT ${onAccount}`]: named('New'),
      [`POST ${onAccount}`]: named('Renamed'),
      [`POST ${onAccount}/move`]: { data: { to: target.id } },
      'PUT /v2/api_auth': { data: apiKey },
      'POST /v2/auth/tokeninfo': { data: { token: world.ada.token } },
    },
  }
}

export const callRoute = (
  by: Client,
  route: Route,
  { ids, systemIds, samples }: Stage,
  requestId: string,
  query?: Record<string, string | boolean>,
) => {
  const { data, options } = requestFor(route, samples)
  const path = pathWith(route, route.path.includes('{account_id}') ? ids : systemIds)
  const headers = { ...options.headers, 'x-request-id': requestId }
  return by.request(route.method, path, data, { ...options, headers, ...(query ? { query } : {}) })
}

/** The routes that write; the one that ends all sessions comes last. */
export const writingRoutes = ({ server }: World) => {
  const writing = server.routes.filter(({ method }) => method !== 'GET')
  const isLast = (route: Route) => nameOf(route) === 'PUT /v2/auth'
  return [...writing.filter((route) => !isLast(route)), ...writing.filter(isLast)]
}
