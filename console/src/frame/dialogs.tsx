import { lazy, Suspense } from 'react'
import { askedCharges } from '../lib/consent.ts'
import { signingInAgain } from '../lib/sign-in-again.ts'

const ChargesDialog = lazy(async () => ({ default: (await import('../parts/charges.tsx')).ChargesDialog }))
const SignInAgain = lazy(async () => ({
  default: (await import('../sign-in/sign-in-again.tsx')).SignInAgain,
}))

/** What may come up over any screen: loaded when it does. */
export const Dialogs = () => {
  const hasCharges = askedCharges.use() !== undefined
  const hasEnded = signingInAgain.use() !== undefined
  return (
    <Suspense fallback={null}>
      {hasCharges && <ChargesDialog />}
      {hasEnded && <SignInAgain />}
    </Suspense>
  )
}
