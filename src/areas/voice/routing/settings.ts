import { Type } from 'typebox'
import { section, settingsDocument } from '../../../settings/keys.ts'

const routing = section('Routing of calls', {
  flat_rate_classifiers: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    default: ['did_us'],
    maxItems: 64,
    description: 'Classes of numbers (classifiers) whose calls use a trunk of the account instead of credit',
  }),
})

export const routingSettings = settingsDocument('routing', routing)
