import { area } from '../../area.ts'
import { searchRoutes } from './routes.ts'
import { createSearch } from './store.ts'

export const searchArea = area({
  name: 'search',
  describes: { search: 'Search for records by the beginning of their names.' },
  create: ({ store }) => ({ routes: searchRoutes(createSearch(store)) }),
})
