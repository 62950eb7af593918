import { anyObject, anyText, must, open } from '../../../lib/schema.ts'

/** Values of an account that lie over its reseller's and the system's. */
export const AccountConfig = anyObject({
  title: 'Account configuration',
  description: 'Values by key; what is not named keeps its value from above',
})

export const AccountConfigRecord = open(
  { id: must(anyText({ readOnly: true })) },
  { title: 'Account configuration record' },
)
