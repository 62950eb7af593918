import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const passwords = section('Rules for new passwords; accounts can set their own', {
  should_enforce_strength: flag(
    false,
    'New passwords need at least ten characters: with a digit, a lower-case letter, an upper-case letter and another character',
  ),
  should_prevent_reuse: flag(false, 'A new password must differ from the last one'),
})

export const passwordSettings = settingsDocument('auth.password', passwords)
