import type { Session } from '@crosspoint/client'
import { createSignal } from './signal.ts'

/** Set while a request waits for its user to sign in again: what was typed into the page stays where it is. */
export const signingInAgain = createSignal<{ ended: Session; resolve: () => void } | undefined>(undefined)

/** Resolves when the user has signed in or canceled; the refused request is then sent again. */
export const askToSignInAgain = (ended: Session): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  signingInAgain.set({ ended, resolve })
  return promise
}

export const endSigningInAgain = () => {
  signingInAgain.get()?.resolve()
  signingInAgain.set(undefined)
}
