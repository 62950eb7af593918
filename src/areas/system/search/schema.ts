import { anyText, id, integer, keyed, list, must, open } from '../../../lib/schema.ts'

/** An account, user or device that was found: as in its own list, accounts shorter. */
export const Found = open(
  { id: must(id()), name: anyText(), realm: anyText(), descendants_count: integer() },
  { title: 'Search result' },
)

export const FoundBy = keyed(list(Found), { title: 'Search results by field' })
