import { createCrosspoint, localStorageStore } from '@crosspoint/client'
import { journalled } from './journal.ts'
import { askToSignInAgain } from './sign-in-again.ts'
import { withUploads } from './uploads.ts'
import { tellWaiting } from './waiting.ts'

export const sessionKey = 'crosspoint.session'

/** The server that this page came from, as whoever is signed in. The token is kept where only this origin reads. */
export const crosspoint = createCrosspoint({
  server: location.origin,
  store: localStorageStore(sessionKey),
  fetch: withUploads(journalled),
  onSignedOut: askToSignInAgain,
  onWaiting: tellWaiting,
})

/** For the functions made from the description of the API: `getAccount({ ...api, path: { account_id } })`. */
export const api = { client: crosspoint.http }
