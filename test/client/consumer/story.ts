// A third-party program: compiled and run where only the packed client is installed.
import {
  ChargesNeeded,
  CrosspointError,
  createCrosspoint,
  createDevice,
  createSubAccount,
  createTask,
  type DeviceRow,
  deleteDevice,
  getAccount,
  getTaskInput,
  ifMatch,
  listCdrs,
  listDevices,
  listPhoneNumbers,
  type RowOf,
  StaleEdit,
  updateDevice,
} from '@crosspoint/client'
import { createCrosspoint as createCore } from '@crosspoint/client/core'

const [server = '', token = ''] = process.argv.slice(2)
const crosspoint = createCrosspoint({ server })
const { session } = await crosspoint.signIn({ token })
const client = crosspoint.http

const { data: account } = await createSubAccount({
  client,
  path: { account_id: session.accountId },
  body: { data: { name: `Story ${Date.now()}` } },
})
const path = { account_id: account.id }

for (const name of ['One', 'Two', 'Three']) await createDevice({ client, path, body: { data: { name } } })
const named: string[] = []
for await (const row of crosspoint.each(listDevices, { path, query: { page_size: 2, descending: false } })) {
  const device: DeviceRow = row
  named.push(device.name)
}
console.log('each', named.join())

const sizes: number[] = []
for await (const page of crosspoint.pages(listDevices, { path, query: { page_size: 2 } }))
  sizes.push(page.data.length)
console.log('pages', sizes.join())

const filters = { filter_name: 'Two' }
const { data: filtered } = await listDevices({ client, path, query: { filters } })
console.log('filtered', filtered.map(({ name }) => name).join())

const cells: (string | undefined)[] = []
for await (const row of crosspoint.csv(listDevices, { path })) cells.push(row.name)
console.log('csv', cells.sort().join())
console.log(
  'bytes',
  await new Response(await crosspoint.csv(listCdrs, { path }).bytes())
    .text()
    .then((text) => text.slice(0, 10)),
)

const numbers: RowOf<typeof listPhoneNumbers>[] = []
for await (const number of crosspoint.each(listPhoneNumbers, { path })) numbers.push(number)
console.log('numbers', numbers.length)

const [two] = filtered
if (!two) throw new Error('there is no second phone')
const onTwo = { account_id: account.id, device_id: two.id }
const edited = await updateDevice({ client, path: onTwo, body: { data: { name: 'Second', owner_id: null } } })
console.log('edited', edited.data.name)
const stale = await updateDevice({
  client,
  path: onTwo,
  body: { data: { name: 'Late' } },
  headers: ifMatch({ revision: 'another' }),
}).catch((error: unknown) => error)
console.log('stale', stale instanceof StaleEdit && (await stale.current()).revision === edited.revision)

const refused = await createDevice({ client, path, body: { data: { name: '' } } }).catch(
  (error: unknown) => error,
)
if (!(refused instanceof CrosspointError)) throw refused
console.log('refused', refused.status, refused.problems.map(({ field, rule }) => `${field} ${rule}`).join())
console.log('charged', refused instanceof ChargesNeeded)

const task = await createTask({
  client,
  path,
  body: new Blob(['e164\n+14155550100\n']),
  query: { category: 'number_management', action: 'release' },
  headers: { 'content-type': 'text/csv' },
})
const taskId = String(task.metadata.id)
const input = await getTaskInput({ client, path: { ...path, task_id: taskId }, parseAs: 'text' })
console.log('task', String(input).split('\n')[1])
await deleteDevice({ client, path: onTwo })

// @ts-expect-error: the account has to be named.
await getAccount({ client, path: {} }).catch(() => console.log('path'))
// @ts-expect-error: a name is a text.
await createDevice({ client, path, body: { data: { name: 5 } } }).catch(() => console.log('type'))

const core = createCore({ server })
await core.signIn({ token })
console.log(
  'core',
  (await core.request<{ name: string }>({ path: `/v2/accounts/${account.id}` })).data.name === account.name,
)
