import type { SecondFactorNeeded, SignedIn } from '../client/src/core.ts'
import { askFor } from './ask.ts'
import { Mistake, printable, type Terminal } from './terminal.ts'

const question = { message: 'Code of the authenticator app, or a recovery code', option: '--code' }

/** A QR code of characters. */
const showPicture = async (terminal: Terminal, address: string) => {
  const { renderUnicodeCompact } = await import('uqr')
  terminal.tell('This account wants a second factor. Read this with an authenticator app:\n')
  terminal.tell(renderUnicodeCompact(address))
  terminal.tell(`\n${printable(address)}\n`)
}

const showRecoveryCodes = (terminal: Terminal, codes: readonly string[]) => {
  terminal.tell('Each of these is good once in place of a code. They are shown this one time:\n')
  for (const code of codes) terminal.tell(`  ${printable(code)}`)
  terminal.tell('')
}

/** Completes a second factor if the server requires one. */
export const completeSignIn = async (
  terminal: Terminal,
  state: SignedIn | SecondFactorNeeded,
  code?: string,
): Promise<SignedIn> => {
  if (state.state === 'signed_in') return state
  if (!state.isEnrolled && code === undefined) {
    if (!terminal.isAttended) throw new Mistake('a second factor has to be set up: sign in at a terminal')
    await showPicture(terminal, await state.enrol())
  }
  const signedIn = await state.answer(code ?? (await askFor(terminal, question)))
  if (signedIn.recoveryCodes) showRecoveryCodes(terminal, signedIn.recoveryCodes)
  return signedIn
}
