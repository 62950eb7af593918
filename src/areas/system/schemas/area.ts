import { area } from '../../area.ts'
import { createSchemas } from './operations.ts'
import { schemaRoutes } from './routes.ts'

export const schemasArea = area({
  name: 'schemas',
  describes: { schemas: 'The published shapes of what clients write.' },
  collects: ['schemas'],
  create: ({ validate }, _needs, { schemas }) => ({ routes: schemaRoutes(createSchemas(schemas, validate)) }),
})
