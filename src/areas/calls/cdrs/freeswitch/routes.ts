import type { PostedPage } from '../../../../http/wire/posted-page.ts'
import type { FreeswitchIntake } from './operations.ts'

/**
 * POST /ingest/freeswitch/{secret}. A switch repeats a request that is not answered with 2xx, and then keeps
 * the leg in a file. So a leg that is ignored for a good reason (no account, a test call) is answered with 200,
 * and one that a person has to look at with 400.
 */
export const freeswitchPage = ({ isSecret, take }: FreeswitchIntake): PostedPage => ({
  below: '/ingest/freeswitch/',
  expects: 'POST a call detail record',
  authMethod: 'freeswitch',
  // A leg with both session descriptions and all variables has 50 KB; percent-encoded twice, three times that.
  largestBytes: 2_000_000,
  isSecret,
  take: async (author, bytes) => {
    const { verdict, reason } = await take(author, bytes)
    return typeof verdict === 'string'
      ? { status: 200, content: { status: verdict, reason } }
      : { status: 400, content: { status: 'rejected', reason: verdict.rejected } }
  },
  fault: 'a call record from a switch could not be taken',
})
