import { body, macro, notice, secret, userMacros } from '../../../mail/notices.ts'

const exampleLink = 'https://portal.example/?recovery=0123456789abcdef'

export const newUserNotice = notice('new_user', {
  friendlyName: 'New user',
  category: 'user',
  to: 'original',
  macros: {
    ...userMacros,
    'user.email': macro('Email address', 'Email address of the user', 'ada@acme.example'),
    instructions: macro(
      'Instructions',
      'Instructions for the link, or that there is none',
      'Open this address within 24 hours to choose your password:',
    ),
    link: secret('Link', 'Link to set the password; empty if no host is set up for it', exampleLink),
  },
  subject: 'Your user in the account {{account.name}}',
  ...body(
    'Hello {{user.first_name}} {{user.last_name}},',
    'an admin created a user for you in the account {{account.name}}.',
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
    link: secret('Link', 'Link to set a new password', exampleLink),
    'link.minutes': macro('Minutes', 'Validity of the link in minutes', '60'),
  },
  subject: 'Reset your password',
  ...body(
    'A new password was requested for the user {{user.username}} of the account {{account.name}}.',
    'To set a new password, open this address within {{link.minutes}} minutes:',
    '<{{link}}>',
    'If you did not request this, ignore this email: the password does not change.',
  ),
})
