import type { Json } from '../lib/json.ts'
import type { CreationNotice } from '../mail/mail.ts'
import type { RequestFacts } from './route.ts'

export const creationQuery = { send_email_on_creation: 'false: nobody is told by mail' }

/** Whether somebody is told by mail of what a request makes: yes, unless it says `send_email_on_creation=false`. */
export const creationNotice = ({ value }: Pick<RequestFacts, 'value'>): CreationNotice =>
  String(value('send_email_on_creation')) === 'false' ? 'none' : 'mail'

/** It may stand among the data; it is a wish about the request, not a field of the record. */
export const withoutCreationWish = ({ send_email_on_creation: _wish, ...data }: Json): Json => data
