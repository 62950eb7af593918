import { area } from '../../area.ts'
import { createSearch } from './operations.ts'
import { searchRoutes } from './routes.ts'

export const searchArea = area({
  name: 'search',
  describes: { search: 'Records found by the beginnings of their names.' },
  create: ({ store }) => ({ routes: searchRoutes(createSearch(store)) }),
})
