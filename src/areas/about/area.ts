import { area } from '../area.ts'
import { aboutRoutes } from './routes.ts'

/** What this server is. */
export const aboutArea = area({ name: 'about', create: () => ({ routes: aboutRoutes() }) })
