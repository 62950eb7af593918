import { accountMember } from '../../../auth/policies.ts'
import { area } from '../../area.ts'
import { everyOperation, recordRoutes } from '../../record-routes.ts'
import { createGroups } from './operations.ts'
import { GroupRow } from './schema.ts'

export const groupsArea = area({
  name: 'groups',
  kinds: { group: 'groups of phones and users that ring together' },
  describes: { groups: 'Users, devices and groups that ring together.' },
  create({ store }) {
    const groups = createGroups(store)
    return {
      offers: groups,
      ...recordRoutes(groups, {
        path: '/v2/accounts/{account_id}/groups',
        called: ['a group', 'groups'],
        row: GroupRow,
        routes: everyOperation(accountMember),
      }),
    }
  },
})
