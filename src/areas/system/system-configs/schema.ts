import { anyObject, anyText, keyed, must, open } from '../../../lib/schema.ts'

const section = anyObject({ description: 'Values by key' })

export const SystemConfig = open(
  { default: must(section) },
  {
    title: 'System configuration',
    description: 'Values for every server under `default`, for one server under its node name',
    additionalProperties: section,
  },
)

/** `default` may be missing after a PATCH. */
export const SystemConfigSections = keyed(section)

export const SystemConfigRecord = open(
  { id: must(anyText({ readOnly: true })) },
  { title: 'System configuration record' },
)

export const SystemConfigSection = anyObject({
  title: 'System configuration section',
  description: 'Values by key',
})

export const SystemConfigName = anyText({ title: 'System configuration name' })
