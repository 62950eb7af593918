import type { Static } from 'typebox'
import { anyText, flag, must, open, text, typed } from '../../../../lib/schema.ts'

const email = text(0, 254, { format: 'email', description: 'Sender address' })

const selector = text(0, 63, {
  pattern: '^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$',
  description: 'The DKIM record is at SELECTOR._domainkey.DOMAIN',
})

/** Without read-only fields, so that an echoed record is accepted. */
export const SenderEmail = open(
  { email: must(email), dkim_selector: selector },
  { title: 'Whitelabel email', description: 'A sender address of the account' },
)
export type SenderEmail = Static<typeof SenderEmail>

export const SenderEmailChange = open(
  { email, dkim_selector: selector },
  { title: 'Whitelabel email change' },
)
export type SenderEmailChange = Static<typeof SenderEmailChange>

/** Ignored in requests. */
export const senderReadOnly: readonly string[] = ['id', 'created', 'modified', 'verified', 'deleted']

export const SenderEmailRecord = open(
  { id: must(anyText({ readOnly: true })), email: must(anyText()), dkim_selector: anyText() },
  { title: 'Whitelabel email record' },
)

export const SenderEmailRow = open(
  {
    id: must(anyText()),
    email: must(anyText()),
    verified: must(flag({ description: 'Whether its owner has entered the code' })),
  },
  { title: 'Whitelabel email row' },
)

export const VerificationCode = open({
  code: must(
    typed(['string', 'integer'], { maxLength: 32, description: 'The four digits of the mailed code' }),
  ),
})
