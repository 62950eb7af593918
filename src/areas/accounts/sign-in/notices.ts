import { body, macro, notice, secret, userMacros } from '../../../mail/notices.ts'

const exampleLink = 'https://portal.example/?recovery=0123456789abcdef'

export const newUserNotice = notice('new_user', {
  friendlyName: 'New user',
  category: 'user',
  to: 'original',
  macros: {
    ...userMacros,
    'user.email': macro('Mail address', 'Of the user', 'ada@acme.example'),
    instructions: macro(
      'Instructions',
      'Instructions for the link, or that there is none',
      'Open this address within 24 hours to choose your password:',
    ),
    link: secret('Link', 'Leads to a password; empty where no host is set up for it', exampleLink),
  },
  subject: 'Your user in the account {{account.name}}',
  ...body(
    'Hello {{user.first_name}} {{user.last_name}},',
    'a user was made for you in the account {{account.name}}.',
    'User name: {{user.username}}\nRealm: {{account.realm}}',
    '{{instructions}}',
    '<{{link}}>',
  ),
})

export const passwordRecoveryNotice = notice('password_recovery', {
  friendlyName: 'Password recovery',
  category: 'user',
  to: 'original',
  macros: {
    ...userMacros,
    link: secret('Link', 'Leads to a new password', exampleLink),
    'link.minutes': macro('Minutes', 'How long the link is good', '60'),
  },
  subject: 'Password recovery',
  ...body(
    'A new password was requested for the user {{user.username}} of the account {{account.name}}.',
    'If it was you, open this address within {{link.minutes}} minutes:',
    '<{{link}}>',
    'If it was not you, nothing has to be done: the password stays as it is.',
  ),
})
