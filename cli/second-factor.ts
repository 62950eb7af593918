import type { SecondFactorNeeded, SignedIn } from '../client/src/core.ts'
import { askFor } from './ask.ts'
import { Mistake, printable, type Terminal } from './terminal.ts'

const question = { message: 'Code of the authenticator app, or a recovery code', option: '--code' }

/** A QR code of characters. */
const showPicture = async (terminal: Terminal, address: string) => {
  const { renderUnicodeCompact } = await import('uqr')
  terminal.printError('This account requires a second factor. Scan this code with an authenticator app:\n')
  terminal.printError(renderUnicodeCompact(address))
  terminal.printError(`\n${printable(address)}\n`)
}

const showRecoveryCodes = (terminal: Terminal, codes: readonly string[]) => {
  terminal.printError('Recovery codes: each replaces a code once. They are shown only now:\n')
  for (const code of codes) terminal.printError(`  ${printable(code)}`)
  terminal.printError('')
}

/** Completes a second factor if the server requires one. */
export const completeSignIn = async (
  terminal: Terminal,
  state: SignedIn | SecondFactorNeeded,
  code?: string,
): Promise<SignedIn> => {
  if (state.state === 'signed_in') return state
  if (!state.isEnrolled && code === undefined) {
    if (!terminal.isAttended)
      throw new Mistake('this account requires a second factor: sign in on a terminal to set it up')
    await showPicture(terminal, await state.enrol())
  }
  const signedIn = await state.answer(code ?? (await askFor(terminal, question)))
  if (signedIn.recoveryCodes) showRecoveryCodes(terminal, signedIn.recoveryCodes)
  return signedIn
}
