// The first match decides; other texts stay unchanged.
const converters: readonly (readonly [RegExp, string])[] = [
  [/^1?([2-9]\d{2}[2-9]\d{6})$/, '+1'],
  // International dialling prefixes.
  [/^(?:011|00)(\d{5,})$/, '+'],
  [/^(\d{10})$/, '+1'],
  [/^(\d{1,9})$/, '+'],
  [/^([1-9]\d{10,})$/, '+'],
]

/** National numbers get +1, others a plus. */
export const normalizeNumber = (text: string): string => {
  for (const [form, prefix] of converters) {
    const match = form.exec(text)
    if (match) return prefix + match[1]
  }
  return text
}

export const isE164 = (text: string) => /^\+[1-9]\d{1,14}$/.test(text)
