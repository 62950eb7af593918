import { anyText, must, open, text } from '../../../../lib/schema.ts'

/** Who forgot a password, and where the mail shall lead. */
export const RecoveryRequest = open(
  {
    username: must(text(1, 254)),
    ui_url: must(
      text(14, 2000, { format: 'uri', description: 'Where the mail leads; `recovery=<id>` is added' }),
    ),
    account_name: text(1, 64),
    account_realm: text(1, 64),
    realm: text(1, 64, { description: 'Another name of account_realm' }),
    phone_number: text(1, 64),
    account_id: text(32, 32),
  },
  { title: 'Password recovery' },
)

export const RecoveryAnswer = anyText({ description: 'The same sentence for everybody' })

export const Redemption = open(
  { reset_id: must(text(40, 250, { pattern: '^[a-fA-F0-9]{40,250}$' })) },
  { title: 'A reset id from a mail' },
)
