import { body, macro, notice, secret } from '../../../mail/notices.ts'

export const emailVerificationNotice = notice('email_verification', {
  friendlyName: 'Verification of a sender address',
  category: 'account',
  to: 'original',
  macros: {
    email: macro('Address', 'The address to be verified', 'support@acme.example'),
    code: secret('Code', 'The code that proves that the email was read', '1234'),
    'code.minutes': macro('Minutes', 'How long the code is good', '60'),
  },
  subject: 'Verify your sender address',
  ...body(
    'The account {{account.name}} wants to send mail from {{email}}.',
    'The verification code is {{code}}. It is good for {{code.minutes}} minutes.',
    'If you know nothing about this, nothing has to be done: no mail will be sent from this address.',
  ),
})
