// The server hands phones to the operator's provisioning service, and alerts admins if the service rejects
// them.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const phone = { name: 'Desk', mac_address: '00:11:22:33:44:55', provision: { endpoint_brand: 'yealink' } }

interface Alert {
  id: string
  category: string
  from: Json[]
  metadata: Json
}

describeAnyEngine('phones', (engine) => {
  const world = useWorld(engine)
  let service: Server
  let status = 200
  const told: Json[] = []

  beforeAll(async () => {
    service = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        told.push({
          authorization: request.headers.authorization,
          ...(JSON.parse(Buffer.concat(chunks).toString()) as Json),
        })
        response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"unknown model"}')
      })
    })
    await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening))
  })

  afterAll(() => service.close())

  const toldOf = ({ id }: TestAccount) => told.filter(({ account_id }) => account_id === id)

  const run = () => world.server.scheduler.runNow('provisioning')

  const begin = async () => {
    const { port } = service.address() as AddressInfo
    await world.configure('provisioner', {
      provisioning_url: `http://127.0.0.1:${port}/phones`,
      authorization_header: 'Bearer key',
    })
    status = 200
    const account = await world.account(world.reseller)
    return { account, admin: await world.admin(account) }
  }

  /** The alerts at an account about the phones of the same account or of one below. */
  const alertsOf = async (who: Person, at: TestAccount, about = at) =>
    ((await who.get(`${at.path}/alerts`)).data as unknown as Alert[]).filter(
      ({ category, from }) => category === 'provisioner' && from.some(({ value }) => value === about.id),
    )

  it('are handed to the provisioning service when they are made, changed and removed', async () => {
    const { account } = await begin()
    const made = await world.device(account, phone)
    await run()
    await world.operator.patch(made.path, { name: 'Hall' })
    await run()
    await world.operator.delete(made.path)
    await run()
    const place = { account_id: account.id, device_id: made.id, mac_address: '001122334455' }
    expect(toldOf(account)).toMatchObject([
      { authorization: 'Bearer key', operation: 'update', ...place, device: { id: made.id, name: 'Desk' } },
      { operation: 'update', ...place, device: { name: 'Hall' } },
      { operation: 'remove', ...place },
    ])
    const left = await world.server.store.all('SELECT state, payload FROM work WHERE id = $1', [made.id])
    expect(left).toEqual([{ state: 'done', payload: '{}' }])
  })

  it('that cannot be provisioned are ignored', async () => {
    const { account } = await begin()
    await world.device(account, { name: 'Soft' })
    await run()
    expect(toldOf(account)).toEqual([])
  })

  it('that the service does not take alert the admins once, until it does', async () => {
    const { account, admin } = await begin()
    status = 500
    const made = await world.device(account, phone)
    await run()
    const [alert, ...others] = await alertsOf(admin, account)
    expect(others).toEqual([])
    expect(alert).toMatchObject({
      title: 'Provisioning Error',
      message: 'The settings of the phone Desk (001122334455) could not be sent to the provisioning service.',
      category: 'provisioner',
      level: 'error',
      metadata: {
        device_id: made.id,
        mac_address: '001122334455',
        status: 500,
        reply: '{"error":"unknown model"}',
      },
      from: [{ type: 'account', value: account.id }],
      clearable: true,
    })
    expect(await alertsOf(world.ross, world.reseller, account)).toHaveLength(1)
    world.clock.advance({ minutes: 1 })
    await run()
    expect(toldOf(account)).toHaveLength(2)
    expect(await alertsOf(admin, account)).toHaveLength(1)
    status = 200
    await world.operator.patch(made.path, { name: 'Hall' })
    await run()
    expect(await alertsOf(admin, account)).toEqual([])
    expect(await alertsOf(world.ross, world.reseller, account)).toEqual([])
  })

  it('raise no second alert when the alert was cleared before the service took them', async () => {
    const { account, admin } = await begin()
    status = 500
    await world.device(account, phone)
    await run()
    const [alert] = await alertsOf(admin, account)
    await world.operator.delete(`${account.path}/alerts/${alert?.id}`)
    world.clock.advance({ minutes: 1 })
    await run()
    expect(toldOf(account)).toHaveLength(2)
    expect(await alertsOf(admin, account)).toEqual([])
  })

  it('that cannot be handed over because the service is down are an error as well', async () => {
    const { account, admin } = await begin()
    await world.configure('provisioner', { provisioning_url: 'http://127.0.0.1:9/phones' })
    await world.device(account, phone)
    await run()
    const [alert] = await alertsOf(admin, account)
    expect(alert?.metadata).toMatchObject({ reply: '127.0.0.1:9: unreachable' })
  })
})
