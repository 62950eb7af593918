import { Flags, musicOnHold } from '../../../lib/call-shapes.ts'
import { recordShape, type StoredDoc } from '../../../lib/record-shape.ts'
import { anyText, choice, id, integer, keyedBy, list, must, open, text } from '../../../lib/schema.ts'

const Endpoint = open({
  type: must(choice(['user', 'device', 'group'])),
  weight: integer({
    minimum: 1,
    maximum: 100,
    description: 'Ringing order in sequence: higher weight first',
  }),
  delay: integer({ minimum: 0, maximum: 600, description: 'Seconds before it rings' }),
  timeout: integer({ minimum: 1, maximum: 600, description: 'Seconds it rings' }),
})

const fields = {
  name: must(text(1, 128)),
  endpoints: must(keyedBy('^[0-9a-f]{32}$', Endpoint, { maxProperties: 200, description: 'Members by ID' })),
  music_on_hold: musicOnHold(128),
  flags: Flags,
}

export const groupShape = recordShape(fields, {
  title: 'Group',
  description: 'Users, devices and groups that ring together. Other fields are stored',
})
export const { record: GroupRecord, computed: groupReadOnly } = groupShape

export type GroupDoc = StoredDoc<typeof groupShape.body>

export const GroupRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    endpoints: must(integer({ description: 'Number of members' })),
    features: must(list(anyText(), { description: 'Enabled features' })),
    flags: Flags,
  },
  { title: 'Group row' },
)
