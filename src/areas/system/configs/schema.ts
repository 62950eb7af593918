import { anyObject, anyText, must, open } from '../../../lib/schema.ts'

export const AccountConfig = anyObject({
  title: 'Account configuration',
  description: 'Values by key; what is not named keeps its value from above',
})

export const AccountConfigRecord = open(
  { id: must(anyText({ readOnly: true })) },
  { title: 'Account configuration record' },
)
