import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  id,
  list,
  must,
  open,
  text,
} from '../../../../lib/schema.ts'

// Responses of authenticators contain keys and names of some hundred bytes, in base64url.
const bytes = (most: number) => must(text(1, most, { pattern: '^[A-Za-z0-9_-]+$' }))
const credentialId = bytes(1400)
const type = must(choice(['public-key']))

const name = text(1, 128, { description: 'Name that the user chose' })

/** `credential.toJSON()` of what `navigator.credentials.create` gave. */
const NewCredential = open({
  id: credentialId,
  rawId: credentialId,
  type,
  response: must(
    open({
      clientDataJSON: bytes(10_000),
      attestationObject: bytes(30_000),
      transports: list(text(1, 32), { maxItems: 10 }),
    }),
  ),
})
export type NewCredential = Static<typeof NewCredential>

/** `credential.toJSON()` of what `navigator.credentials.get` gave. */
export const Assertion = open({
  id: credentialId,
  rawId: credentialId,
  type,
  response: must(
    open({
      clientDataJSON: bytes(10_000),
      authenticatorData: bytes(10_000),
      signature: bytes(10_000),
      userHandle: text(0, 100),
    }),
  ),
})
export type Assertion = Static<typeof Assertion>

export const NewPasskey = open(
  { name: must(name), credential: must(NewCredential) },
  { title: 'New passkey' },
)

export const PasskeyName = open({ name: must(name) })

export const PasskeySignIn = open({ credential: must(Assertion) }, { title: 'Passkey sign-in' })

const fields = {
  id: must(id()),
  name: must(anyText()),
  rp_id: must(anyText({ description: 'Domain of the app' })),
  backed_up: must(flag({ description: 'Whether a service copies it to other devices' })),
  last_used: gregorian('Time of its last sign-in'),
}

export const PasskeyRow = open(fields, { title: 'Passkey row' })
export const PasskeyRecord = open(fields, { title: 'Passkey record' })

export const PasskeyOptions = open(
  { public_key: must(anyObject({ description: '`publicKey` of navigator.credentials, as JSON' })) },
  { title: 'Options for a passkey' },
)
