import { Type } from 'typebox'
import { Flags } from '../../../lib/call-shapes.ts'
import { recordShape, type StoredDoc } from '../../../lib/record-shape.ts'
import { anyObject, anyText, either, flag, id, list, must, open, text } from '../../../lib/schema.ts'

const Flow = open(
  {
    module: must(
      text(1, 64, { description: 'device, user, ring_group, callflow, resources, response, ...' }),
    ),
    data: anyObject({ default: {}, description: 'Parameters of the module' }),
    children: anyObject({ description: 'Next module by result of this one; `_`: any other result' }),
  },
  { description: 'Action for a call' },
)

const FeatureCode = open({ name: text(1, 128), number: text(1, 30) })

const fields = {
  name: text(1, 128),
  numbers: list(text(1, 36), {
    maxItems: 500,
    default: [],
    description: 'Phone numbers of the account, extensions, or `no_match`: calls that nothing else takes',
  }),
  patterns: list(text(1, 256), {
    maxItems: 100,
    default: [],
    description: 'Regular expressions (RE2) for numbers that no callflow lists',
  }),
  flow: must(Flow),
  type: text(1, 64, { description: 'Purpose, set by a client' }),
  featurecode: FeatureCode,
  owner_id: id({ description: 'User of the app' }),
  group_id: id({ description: 'Group that it rings: consoles find the callflow of a group by it' }),
  contact_list: open({ exclude: flag({ description: 'Hide it from the contact list' }) }),
  flags: Flags,
}

export const callflowShape = recordShape(fields, {
  title: 'Callflow',
  description: 'Rules for calls to some numbers. Other fields are stored',
  computed: { metadata: anyObject({ readOnly: true, description: 'Names of the IDs in the flow' }) },
})
export const { record: CallflowRecord, computed: callflowReadOnly } = callflowShape

export type CallflowDoc = StoredDoc<typeof callflowShape.body>

export const CallflowRow = open(
  {
    id: must(id()),
    name: anyText(),
    type: anyText(),
    numbers: must(list(anyText())),
    patterns: must(list(anyText())),
    featurecode: either([FeatureCode, Type.Literal(false)], { description: 'false: the callflow has none' }),
    owner_id: anyText(),
    group_id: anyText(),
    modules: must(list(anyText(), { description: 'The modules of the flow, each once' })),
    flags: Flags,
  },
  { title: 'Callflow row' },
)
