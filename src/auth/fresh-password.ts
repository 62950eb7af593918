import { randomKey } from '../lib/ids.ts'

const bytes = 15
// It begins with a letter, or programs that are given it would take it for an option.
const kinds = [/\d/, /[a-z]/, /[A-Z]/, /[-_]/, /^[A-Za-z]/]

/** A password that is as strong as anybody asks for: twenty characters, all kinds among them. */
export const freshPassword = (): string => {
  for (;;) {
    const password = randomKey(bytes).toString('base64url')
    if (kinds.every((kind) => kind.test(password))) return password
  }
}
