/** Whether somebody is told by mail of what is made. */
export type CreationNotice = 'mail' | 'none'

/** What whoever makes something may say of it. */
export const creationWishes = { send_email_on_creation: { flag: 'false: no mail is sent' } }

/** Somebody is told, unless the request says `send_email_on_creation=false`. */
export const creationNotice = ({ value }: { value(name: string): unknown }): CreationNotice =>
  String(value('send_email_on_creation')) === 'false' ? 'none' : 'mail'
