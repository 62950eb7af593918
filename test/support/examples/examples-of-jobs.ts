// Examples of what runs next to requests: tasks, jobs, emails, sockets, and the audit log of it.
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { eventually } from '../run/eventually.ts'
import { answerWith, startHookReceiver } from '../servers/hook-receiver.ts'
import { pathOfSockets, talkOver } from '../servers/web-sockets.ts'
import { finishTask } from '../world/task-runs.ts'
import type { World } from '../world/world.ts'
import { onAccount, type Recorder } from './example-recorder.ts'

export const recordJobs = async (world: World, { record }: Recorder) => {
  const { operator, acme, ada } = world
  const ids = { account_id: acme.id }

  const tasks = async (place: string, account: string) => {
    const made = await operator.put(`${account}/tasks`, undefined, {
      query: { category: 'rates', action: 'import' },
      headers: { 'content-type': 'text/csv' },
      body: 'prefix,rate_cost\r\n49,0.1\r\nx,0.1\r\n',
    })
    const one = { ...ids, task_id: String(made.body.metadata.id) }
    await finishTask(operator, `${account}/tasks/${one.task_id}`)
    await record(operator, `GET ${place}/{task_id}/input`, one)
    await record(operator, `GET ${place}/{task_id}/output`, one)
    await record(operator, `PUT ${place}/{task_id}/retry`, one)
  }

  const jobs = async () => {
    const service = await startHookReceiver()
    try {
      service.answers(answerWith(500, 'out of stock'))
      await world.configure('provisioner', { provisioning_url: `${service.url}/phones` })
      const phone = { mac_address: '00:11:22:33:44:55', provision: { endpoint_brand: 'yealink' } }
      const device = await world.device(acme, phone)
      await world.server.scheduler.runNow('provisioning')
      const job = { kind: 'provisioning', id: device.id }
      await record(operator, 'GET /v2/work/{kind}/{id}', job)
      await record(operator, 'POST /v2/work/{kind}/{id}/retry', job)
      await operator.delete(device.path)
      await world.server.scheduler.runNow('provisioning')
      await world.configure('provisioner', { provisioning_url: '' })
    } finally {
      await service.close()
    }
  }

  const emails = async () => {
    await world.user(world.master, { username: 'mia', email: 'mia@master.test' })
    await world.deliverMail()
    const { data } = await record(operator, 'GET /v2/notifications/smtplog', {})
    await record(operator, 'GET /v2/notifications/smtplog/{smtplog_id}', { smtplog_id: data[0].id })
  }

  const sockets = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${world.server.port}${pathOfSockets}`)
    const talk = talkOver(socket)
    await once(socket, 'open')
    await talk.ask('subscribe', ada.token, { binding: 'object.doc_created.user', name: 'Desk' })
    const { data } = await ada.get(`${acme.path}/websockets`)
    const one = { ...ids, websocket_id: data[0].websocket_session_id }
    await record(ada, `GET ${onAccount}/websockets/{websocket_id}`, one)
    socket.terminate()
    await talk.closed()
  }

  const audit = async () => {
    const account = await world.account(world.reseller, { name: 'An audited account', realm: 'audited.test' })
    const { data } = await eventually(
      () => operator.get(`${account.path}/audit`),
      (answer) => answer.data.length > 0,
    )
    const entry = { account_id: account.id, entry_id: data[0].id }
    await record(operator, `GET ${onAccount}/audit/{entry_id}`, entry)
  }

  await record(ada, 'GET /v2/schemas/{schema_name}', { schema_name: 'access_lists' })
  await world.configure('tasks', { max_running: 1 })
  await tasks(`${onAccount}/tasks`, acme.path)
  await tasks('/v2/tasks', '/v2')
  await jobs()
  await emails()
  await sockets()
  await audit()
}
