import { declarationsOf } from '../areas/assemble.ts'
import { areas } from '../areas/index.ts'
import { openApiText } from '../http/openapi/openapi.ts'
import type { Route } from '../http/route.ts'
import { version } from '../version.ts'
import { bareAreas } from './bare-areas.ts'

export const allRoutes = (): readonly Route[] => bareAreas().routes

export const openApiDocument = () =>
  openApiText({ routes: allRoutes(), tags: declarationsOf(areas).describes, version })

export const printOpenApi = async () => {
  // A reader may close the pipe, such as `| head`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.stdout.write(openApiDocument())
}
