import { expect, it } from 'vitest'
import { freshPassword } from '../../src/auth/credentials.ts'

it('a password that is made has twenty characters of all kinds, and is no option of a program', () => {
  for (let count = 0; count < 500; count += 1) {
    const password = freshPassword()
    expect(password).toMatch(/^[A-Za-z][-\w]{19}$/)
    for (const kind of [/\d/, /[a-z]/, /[A-Z]/, /[-_]/]) expect(password).toMatch(kind)
  }
})
