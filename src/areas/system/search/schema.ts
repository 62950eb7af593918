import { anyText, id, integer, keyed, list, must, open } from '../../../lib/schema.ts'

export const Found = open(
  { id: must(id()), name: anyText(), realm: anyText(), descendants_count: integer() },
  { title: 'Search result' },
)

export const FoundBy = keyed(list(Found), { title: 'Search results by field' })
