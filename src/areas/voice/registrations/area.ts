import { accountAdmin, accountMember } from '../../../auth/policies.ts'
import { answer, RowsResponse } from '../../../http/response/responses.ts'
import { del, get, type Route } from '../../../http/route.ts'
import { anyText, list } from '../../../lib/schema.ts'
import { edgeFails, edgesIn, unreachableIn } from '../../../switch/answers.ts'
import type { MediaSwitch } from '../../../switch/kamailio/kamailio.ts'
import { area } from '../../area.ts'
import { devicesArea } from '../devices/area.ts'
import { createRegistrations, type Registrations } from './operations.ts'
import { Registration, RegistrationCount } from './schema.ts'

const all = '/v2/accounts/{account_id}/registrations'

const ended = (unreachable: readonly string[]) => answer({ data: 'ok', metadata: unreachableIn(unreachable) })

const registrationRoutes = (
  registrations: Registrations,
  { isPresent }: Pick<MediaSwitch, 'isPresent'>,
): Route[] => [
  get(all, {
    summary: 'List the registered devices of an account and their addresses',
    isLong: true,
    allow: accountMember,
    answers: list(Registration),
    fails: edgeFails,
    run: async ({ account }) => {
      const { batches, unreachable } = await registrations.list(account)
      const isThere = await isPresent()
      return new RowsResponse(batches, () => edgesIn(isThere, [...unreachable]))
    },
  }),
  get(`${all}/count`, {
    summary: 'Count the registrations of an account',
    isLong: true,
    allow: accountMember,
    answers: RegistrationCount,
    fails: edgeFails,
    run: async ({ account }) => {
      const { count, unreachable } = await registrations.count(account)
      return answer({ data: { count }, metadata: unreachableIn(unreachable) })
    },
  }),
  del(all, {
    summary: 'Delete the registrations of an account, so that its devices register again',
    isLong: true,
    allow: accountAdmin,
    answers: anyText(),
    fails: edgeFails,
    run: async ({ account }) => ended(await registrations.endAll(account)),
  }),
  del(`${all}/{username}`, {
    summary: 'Delete the registrations of a device, by its SIP user name',
    allow: accountAdmin,
    answers: anyText(),
    fails: edgeFails,
    run: async ({ account, path }) => ended(await registrations.endOf(account, path.username)),
  }),
]

export const registrationsArea = area({
  name: 'registrations',
  describes: { registrations: 'Registered devices and their addresses.' },
  needs: { devices: devicesArea },
  create: ({ mediaSwitch }, { devices }) => ({
    routes: registrationRoutes(createRegistrations({ devices, mediaSwitch }), mediaSwitch),
  }),
})
