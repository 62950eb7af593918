import { body, define, macro, secret, userMacros } from '../../mail/notices.ts'

export const signInNotices = {
  password_recovery: define({
    friendlyName: 'Password recovery',
    category: 'user',
    to: 'original',
    macros: {
      ...userMacros,
      link: secret('Link', 'Leads to a new password', 'https://portal.example/?recovery=0123456789abcdef'),
      'link.minutes': macro('Minutes', 'How long the link is good', '60'),
    },
    subject: 'Password recovery',
    ...body(
      'Somebody asked for a new password for the user {{user.username}} of the account {{account.name}}.',
      'If it was you, open this address within {{link.minutes}} minutes:',
      '<{{link}}>',
      'If it was not you, nothing has to be done: the password stays as it is.',
    ),
  }),
}

type Owned = typeof signInNotices

declare module '../../mail/notices.ts' {
  interface NoticeDefinitions extends Owned {}
}
