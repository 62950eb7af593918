import { body, macro, notice, secret } from '../../../mail/notices.ts'

export const emailVerificationNotice = notice('email_verification', {
  friendlyName: 'Verification of a sender address',
  category: 'account',
  to: 'original',
  macros: {
    email: macro('Address', 'The address to be verified', 'support@acme.example'),
    code: secret('Code', 'The code that proves that the email was read', '1234'),
    'code.minutes': macro('Minutes', 'Validity of the code in minutes', '60'),
  },
  subject: 'Verify your sender address',
  ...body(
    'The account {{account.name}} wants to send email from {{email}}.',
    'The verification code is {{code}}. It is valid for {{code.minutes}} minutes.',
    'If you did not request this, ignore this email: no email will be sent from this address.',
  ),
})
