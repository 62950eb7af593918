import { body, define, macro, userMacros } from '../../mail/notices.ts'

export const userNotices = {
  new_user: define({
    friendlyName: 'New user',
    category: 'user',
    to: 'original',
    macros: { ...userMacros, 'user.email': macro('Mail address', 'Of the user', 'ada@acme.example') },
    subject: 'Your user in the account {{account.name}}',
    ...body(
      'Hello {{user.first_name}} {{user.last_name}},',
      'a user was made for you in the account {{account.name}}.',
      'User name: {{user.username}}\nRealm: {{account.realm}}',
    ),
  }),
}

type Owned = typeof userNotices

declare module '../../mail/notices.ts' {
  interface NoticeDefinitions extends Owned {}
}
