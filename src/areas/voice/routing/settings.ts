import { Type } from 'typebox'
import { section, settingsDocument } from '../../../settings/keys.ts'

const routing = section('Where calls go', {
  flat_rate_classifiers: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    default: ['did_us'],
    maxItems: 64,
    description: 'Kinds of numbers (classifiers) that a trunk of an account pays for',
  }),
})

export const routingSettings = settingsDocument('routing', routing)
