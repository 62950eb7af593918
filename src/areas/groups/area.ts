import { area } from '../area.ts'
import { createGroups } from './operations.ts'
import { groupRoutes } from './routes.ts'
import { Group } from './schema.ts'

/** Users, devices and groups that are rung together. */
export const groupsArea = area({
  name: 'groups',
  describes: { groups: 'Users, devices and groups that are rung together.' },
  create({ store }) {
    const groups = createGroups({ store })
    return {
      offers: groups,
      routes: groupRoutes(groups),
      schemas: { groups: Group },
      adoptions: { group: groups.adoption },
    }
  },
})
