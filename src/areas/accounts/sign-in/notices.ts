import { macro, notice, secret, userMacros } from '../../../mail/notices.ts'
import { instructions } from './rules.ts'

const exampleLink = 'https://portal.example/?recovery=0123456789abcdef'

export const newUserNotice = notice(
  'new_user',
  {
    friendlyName: 'New user',
    category: 'user',
    to: 'original',
    macros: {
      ...userMacros,
      'user.email': macro('Email address', 'Email address of the user', 'ada@acme.example'),
      instructions: macro(
        'Instructions',
        'Instructions for the link, or that there is none',
        instructions.withLink,
      ),
      link: secret('Link', 'Link to set the password; empty if no host is set up for it', exampleLink),
    },
  },
  {
    en: [
      'Your user in the account {{account.name}}',
      'Hello {{user.first_name}} {{user.last_name}},',
      'an administrator created a user for you in the account {{account.name}}.',
      '{{instructions}}',
      '<{{link}}>',
      'User name: {{user.username}}\nRealm: {{account.realm}}',
    ],
    de: [
      'Ihr Benutzer im Konto {{account.name}}',
      'Guten Tag {{user.first_name}} {{user.last_name}},',
      'ein Administrator hat im Konto {{account.name}} einen Benutzer für Sie angelegt.',
      '{{instructions}}',
      '<{{link}}>',
      'Benutzername: {{user.username}}\nRealm: {{account.realm}}',
    ],
  },
)

export const passwordRecoveryNotice = notice(
  'password_recovery',
  {
    friendlyName: 'Password recovery',
    category: 'user',
    to: 'original',
    macros: {
      ...userMacros,
      link: secret('Link', 'Link to set a new password', exampleLink),
      'link.minutes': macro('Minutes', 'Validity of the link in minutes', '60'),
    },
  },
  {
    en: [
      'Reset your password',
      'Someone requested a new password for the user {{user.username}} of the account {{account.name}}.',
      'To set a new password, open this address within {{link.minutes}} minutes:',
      '<{{link}}>',
      'If you did not request this, ignore this email: your password does not change.',
    ],
    de: [
      'Setzen Sie Ihr Passwort zurück',
      'Für den Benutzer {{user.username}} des Kontos {{account.name}} wurde ein neues Passwort angefordert.',
      'Um ein neues Passwort festzulegen, öffnen Sie innerhalb von {{link.minutes}} Minuten diese Adresse:',
      '<{{link}}>',
      'Wenn Sie das nicht angefordert haben, ignorieren Sie diese E-Mail: Ihr Passwort ändert sich nicht.',
    ],
  },
)
