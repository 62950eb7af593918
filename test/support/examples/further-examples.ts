// Examples of operations that ask for more than one request: for the document of the API.
import type { Example } from '../../../src/http/openapi/openapi.ts'
import { sampleApps } from '../world/route-samples.ts'
import type { World } from '../world/world.ts'
import { createRecorder, onAccount } from './example-recorder.ts'
import { recordCalls } from './examples-of-calls.ts'
import { recordJobs } from './examples-of-jobs.ts'
import { recordMoney } from './examples-of-money.ts'
import { recordRefusals } from './examples-of-refusals.ts'
import { recordSignIns } from './examples-of-sign-in.ts'

const listing = { query: { category: 'number_management', action: 'list' } }
const plan = { name: 'Small office', plan: { devices: { sip_device: { rate: 5 } } } }
const booking = {
  source: { service: 'goodwill', id: 'ticket-4711' },
  usage: { type: 'voucher', quantity: 1, unit: 'voucher' },
  amount: 10,
}

/** Adds what a server answers to requests that follow each other. No task may be at work. */
export const addFurtherExamples = async (world: World, examples: Map<string, Example>) => {
  const { operator, ross, acme, reseller } = world
  const recorder = createRecorder(world, examples)
  const { record: ask } = recorder

  const plans = async () => {
    const made = await ask(
      ross,
      `PUT ${onAccount}/service_plans`,
      { account_id: reseller.id },
      { data: plan },
    )
    const ids = { account_id: reseller.id, service_plan_id: made.data.id }
    const one = `${onAccount}/service_plans/{service_plan_id}`
    await ask(ross, `GET ${one}`, ids)
    await ask(ross, `GET ${one}/audit`, ids)
    await ask(ross, `POST ${one}`, ids, { data: { ...plan, name: 'Office' } })
    await ask(ross, `PATCH ${one}`, ids, { data: { description: 'Up to ten phones' } })
    const assigned = { account_id: acme.id, plan_id: made.data.id }
    await ask(ross, `POST ${onAccount}/services/{plan_id}`, assigned, { data: {} })
    await ask(ross, `DELETE ${onAccount}/services/{plan_id}`, assigned)
    await ask(ross, `DELETE ${one}`, ids)
  }

  const tasks = async (place: string) => {
    const made = await ask(operator, `PUT ${place}`, { account_id: acme.id }, listing)
    const ids = { account_id: acme.id, task_id: String(made.body.metadata.id) }
    await ask(operator, `PATCH ${place}/{task_id}`, ids)
    await ask(operator, `PATCH ${place}/{task_id}/stop`, ids)
    await ask(operator, `PUT ${place}/{task_id}/continue`, ids)
  }

  const restrictions = async () => {
    const rules = { _: { _: { users: [{ rules: { '/': ['GET'] } }] } } }
    const path = `${onAccount}/token_restrictions`
    const ids = { account_id: acme.id }
    await ask(operator, `POST ${path}`, ids, { data: { restrictions: rules } })
    await ask(operator, `GET ${path}`, ids)
    await ask(operator, `DELETE ${path}`, ids)
  }

  const ledgers = async () => {
    const ids = { account_id: acme.id }
    const { data } = await ask(ross, `PUT ${onAccount}/ledgers/credit`, ids, { data: booking })
    const entry = { ...ids, source: booking.source.service, entry_id: data.id }
    await ask(ross, `GET ${onAccount}/ledgers/{source}`, entry)
    await ask(ross, `GET ${onAccount}/ledgers/{source}/{entry_id}`, entry)
    await ask(ross, `GET ${onAccount}/ledgers/{source}/{entry_id}/audit`, entry)
    await ask(ross, `GET ${onAccount}/ledgers/summary/{month}`, { ...ids, month: '202601' })
  }

  const brand = async () => {
    const { id } = await world.account(reseller)
    const data = { domain: 'new-brand.example.test', company_name: 'A new brand' }
    await ask(ross, `PUT ${onAccount}/whitelabel`, { account_id: id }, { data })
  }

  const apps = async () => {
    const ids = { account_id: acme.id, app_id: 'sample-app' }
    const path = `${onAccount}/apps_store/{app_id}`
    const some = { allowed_users: 'specific', users: [{ id: world.uli.id }] }
    await ask(world.ada, `PUT ${path}`, ids, { data: { allowed_users: 'all' } })
    await ask(world.ada, `POST ${path}`, ids, { data: some })
    await ask(world.ada, `GET ${path}`, ids)
    await ask(world.ada, `GET ${onAccount}/apps_store`, ids)
    // A screenshot that the settings contain; one on another host is a redirection.
    const withScreenshot = { ...sampleApps['sample-app'], screenshots: [sampleApps['sample-app'].icon] }
    await world.configure('apps_store', { apps: { 'sample-app': withScreenshot } })
    await ask(world.ada, `GET ${path}/screenshot/{index}`, { ...ids, index: '0' })
    await ask(world.ada, `DELETE ${path}`, ids)
  }

  await plans()
  await tasks(`${onAccount}/tasks`)
  await tasks('/v2/tasks')
  await restrictions()
  await ledgers()
  await brand()
  await apps()
  for (const recordMore of [recordRefusals, recordSignIns, recordJobs, recordMoney, recordCalls])
    await recordMore(world, recorder)
}
