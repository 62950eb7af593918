import { area } from '../../area.ts'
import { aboutRoutes } from './routes.ts'

export const aboutArea = area({
  name: 'about',
  describes: { about: 'What this server is.' },
  create: () => ({ routes: aboutRoutes() }),
})
