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

/** What was wanted would cost money, and whoever was asked said no: nothing was done. */
export class NotAgreed extends Error {}

/**
 * Does something that may cost money: when it does, the invoices are shown first, and it is done only after somebody has
 * agreed. `NotAgreed` when nobody did.
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
