import { createCrosspoint, localStorageStore } from '@crosspoint/client'
import { journalled } from './journal.ts'
import { askToSignInAgain } from './sign-in-again.ts'
import { withUploads } from './uploads.ts'
import { tellWaiting } from './waiting.ts'

export const sessionKey = 'crosspoint.session'

/**
 * The client for the server of this page, with the session of the signed-in user. Only this origin can read the
 * token.
 */
export const crosspoint = createCrosspoint({
  server: location.origin,
  store: localStorageStore(sessionKey),
  fetch: withUploads(journalled),
  onSignedOut: askToSignInAgain,
  onWaiting: tellWaiting,
})

/** For the functions made from the description of the API: `getAccount({ ...api, path: { account_id } })`. */
export const api = { client: crosspoint.http }
