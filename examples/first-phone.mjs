// From an empty server to a phone that may register: a reseller, an account below it, a user and a device.
//
//   CROSSPOINT_ADMIN_PASSWORD='the password that was shown' node examples/first-phone.mjs

import { client, signIn, signInAsOperator } from './crosspoint.mjs'

const { createDevice, createSubAccount, createUser, getEdge, promoteToReseller } = client
const { replaceDeviceAccessList, replaceDeviceRateLimits } = client

const unique = Date.now().toString(36)

const operator = await signInAsOperator()
const of = (account_id, more) => ({ client: operator.http, path: { account_id, ...more } })
console.log('The operator has signed in.')

const { data: reseller } = await createSubAccount({
  ...of(operator.session().accountId),
  body: { data: { name: `Ring Resale ${unique}` } },
})
await promoteToReseller(of(reseller.id))
console.log(`Reseller: ${reseller.name}`)

const { data: customer } = await createSubAccount({
  ...of(reseller.id),
  body: {
    data: { name: `Bakery ${unique}`, realm: `bakery-${unique}.example.com`, timezone: 'Europe/Paris' },
  },
})
console.log(`Account below it: ${customer.name}, realm ${customer.realm}`)

const { data: user } = await createUser({
  ...of(customer.id),
  body: {
    data: {
      first_name: 'Bob',
      last_name: 'Baker',
      username: 'bob',
      password: 'crusty-bread',
      email: 'bob@example.com',
    },
  },
})
console.log(`User: ${user.first_name} ${user.last_name}`)

const { data: device } = await createDevice({
  ...of(customer.id),
  body: {
    data: {
      name: "Bob's desk phone",
      owner_id: user.id,
      mac_address: '00:15:65:AB:CD:EF',
      sip: { username: 'bob-desk', password: 'never-mind-7' },
    },
  },
})
console.log(`Device: ${device.name}, MAC ${device.mac_address}`)

const phone = of(customer.id, { device_id: device.id })
await replaceDeviceAccessList({
  ...phone,
  body: { data: { order: 'allow,deny', cidrs: ['203.0.113.0/24'], user_agent: '^Yealink' } },
})
await replaceDeviceRateLimits({
  ...phone,
  body: {
    data: {
      per_minute: { registrations: 10, invites: 60, total_packets: 600 },
      per_second: { registrations: 2, invites: 5, total_packets: 20 },
    },
  },
})

const { data: edge } = await getEdge({
  client: operator.http,
  query: {
    realm: customer.realm,
    username: 'bob-desk',
    address: '203.0.113.9',
    user_agent: 'Yealink SIP-T46S',
  },
})
console.log(`Response for an edge: allowed ${edge.allowed}, ${JSON.stringify(edge.rate_limits.device)}`)

const bob = await signIn({ account: customer.name, username: 'bob', password: 'crusty-bread' })
if (bob.session().userId !== user.id) throw new Error('another user has signed in')
console.log('Bob has signed in, and his phone is ready.')
