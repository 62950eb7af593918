// Narrower than RFC 5322 (no quoted local parts, no comments) and wider in one point: domains may hold any
// letters and need no dot, since `admin@localhost` is what a first start has. No character that could end
// a mail header or start a second address gets through.
const hostLabel = String.raw`[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?`
const emailPattern = new RegExp(
  String.raw`^[^\s@"(),:;<>[\]\\\p{C}]{1,64}@${hostLabel}(?:\.${hostLabel})*$`,
  'u',
)

export const isEmailAddress = (text: string) => text.length <= 254 && emailPattern.test(text)
