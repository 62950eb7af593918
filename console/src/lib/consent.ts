import { ChargesNeeded } from '@crosspoint/client'
import { createSignal } from './signal.ts'

interface Asked {
  quote: ChargesNeeded
  resolve: (isAgreed: boolean) => void
}

/** What is asked about just now. */
export const askedCharges = createSignal<Asked | undefined>(undefined)

const askForConsent = (quote: ChargesNeeded) =>
  new Promise<boolean>((resolve) => askedCharges.set({ quote, resolve }))

/** The user declined the charges: nothing was changed. */
export class NotAgreed extends Error {}

/**
 * Sends a request. If it causes charges, shows the invoices and sends it again after the user accepts. Throws
 * `NotAgreed` if the user declines.
 */
export const withConsent = async <Answer>(run: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ChargesNeeded)) throw error
    if (!(await askForConsent(error))) throw new NotAgreed()
    // The same request, so the same kind of answer; a price that has risen since is shown again.
    return withConsent(async () => (await error.accept()) as Answer)
  }
}
