import { text } from './schema.ts'

export const scope = text(1, 64, {
  pattern: '^(\\*|[a-z][a-z0-9_]*:(read|write))$',
  description: '`<area>:read`, `<area>:write` (reading too), or `*`; an area is a resource such as `devices`',
})
