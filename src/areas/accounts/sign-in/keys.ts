import { anyAdminPerson, superduper } from '../../../auth/policies.ts'
import type { Tokens } from '../../../auth/tokens.ts'
import { answer, FileResponse, ListResponse } from '../../../http/answer/answers.ts'
import { collectionListing } from '../../../http/answer/listing.ts'
import { get, put, type Route } from '../../../http/route.ts'
import { actionRequired, invalidAction } from '../../../lib/failure.ts'
import { anyText, must, open } from '../../../lib/schema.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { assertAction } from './actions.ts'

const KeyRow = open({ id: must(anyText()) }, { title: 'Signing key row' })
const Key = open(
  { id: must(anyText()), public_key_pem: must(anyText()) },
  { title: 'Signing key', description: 'What tokens are verified with' },
)

const onKeys = '/v2/auth/keys'
const oneKey = `${onKeys}/{key_id}` as const
const pem = 'application/x-pem-file'

export const keyRoutes = (tokens: Tokens): Route[] => {
  const keys = tokens.signingKeys
  const subject = ({ path }: { path: { key_id: string } }) => keys.get(systemScope, path.key_id)

  return [
    get(onKeys, {
      summary: 'List the keys that tokens are signed with',
      allow: anyAdminPerson,
      answers: KeyRow,
      list: true,
      run: () => new ListResponse(collectionListing(keys, systemScope)),
    }),
    get(oneKey, {
      summary: 'Read a public key',
      record: { kind: 'signing_key', owner: 'nobody' },
      allow: anyAdminPerson,
      subject,
      answers: Key,
      produces: [pem],
      run: ({ subject: key, request }) => {
        const { public_key_pem } = key.doc
        if (request.accepts === pem) return new FileResponse(Buffer.from(public_key_pem), pem)
        return answer({ data: { id: key.id, public_key_pem }, revision: key.revision })
      },
    }),
    put(oneKey, {
      summary: 'Sign with a new key from now on; older keys still verify what they signed',
      allow: superduper,
      subject,
      answers: Key,
      fails: [actionRequired, invalidAction],
      run: async (call) => {
        assertAction(call, 'reset_private_key')
        const key = await tokens.rotateSigningKey(call.author)
        return answer({ data: { id: key.id, public_key_pem: key.doc.public_key_pem } })
      },
    }),
  ]
}
