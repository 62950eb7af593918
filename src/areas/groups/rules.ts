import type { Problems } from '../../lib/failure.ts'
import type { GroupDoc } from './schema.ts'

type Endpoint = GroupDoc['endpoints'][string]

/** Whether an endpoint was in the group before, as what it is now. */
const wasIn = (before: GroupDoc | undefined, id: string, { type }: Endpoint) =>
  before?.endpoints[id]?.type === type

/** Endpoints that have to be there: who has left since stays in the group. */
export const newEndpoints = ({ endpoints = {} }: Partial<GroupDoc>, before: GroupDoc | undefined) =>
  Object.entries(endpoints).filter(([id, endpoint]) => !wasIn(before, id, endpoint))

export const missingEndpoint = (id: string, { type }: Endpoint): Problems => ({
  [`endpoints.${id}`]: { not_found: { message: `The account has no such ${type}`, cause: id } },
})

export const groupsIn = ({ endpoints = {} }: Partial<GroupDoc>) =>
  Object.entries(endpoints).flatMap(([id, { type }]) => (type === 'group' ? [id] : []))

export const circleThrough = (id: string): Problems => ({
  [`endpoints.${id}`]: { circular: { message: 'The group would be a part of itself', cause: id } },
})
