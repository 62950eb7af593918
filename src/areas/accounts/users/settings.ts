import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const passwords = section('Rules for new passwords; accounts can set their own', {
  should_enforce_strength: flag(
    false,
    'New passwords have ten characters at least, among them a digit, a lower and an upper case letter and another one',
  ),
  should_prevent_reuse: flag(false, 'A new password is another one than the last'),
})

export const passwordSettings = settingsDocument('auth.password', passwords)
