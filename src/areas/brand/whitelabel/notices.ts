import { macro, notice, secret } from '../../../mail/notices.ts'

export const emailVerificationNotice = notice(
  'email_verification',
  {
    friendlyName: 'Verification of a sender address',
    category: 'account',
    to: 'original',
    macros: {
      email: macro('Address', 'Address to verify', 'support@acme.example'),
      code: secret('Code', 'Verification code', '1234'),
      'code.minutes': macro('Minutes', 'Validity of the code in minutes', '60'),
    },
  },
  {
    en: [
      'Verify your sender address',
      'The account {{account.name}} wants to send email from {{email}}.',
      'The verification code is {{code}}. It is valid for {{code.minutes}} minutes. Enter it where you added the address.',
      'If you did not request this, ignore this email: no email will be sent from this address.',
    ],
    de: [
      'Bestätigen Sie Ihre Absenderadresse',
      'Das Konto {{account.name}} möchte E-Mails von {{email}} senden.',
      'Der Bestätigungscode ist {{code}}. Er gilt {{code.minutes}} Minuten. Geben Sie ihn dort ein, wo Sie die Adresse hinzugefügt haben.',
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail: Von dieser Adresse wird nichts gesendet.',
    ],
  },
)
