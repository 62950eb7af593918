// In order; the first that fits decides. Numbers with a plus and anything else stay as they are.
const converters: readonly (readonly [RegExp, string])[] = [
  [/^1?([2-9]\d{2}[2-9]\d{6})$/, '+1'],
  // International dialling prefixes.
  [/^(?:011|00)(\d{5,})$/, '+'],
  [/^(\d{10})$/, '+1'],
  [/^(\d{1,9})$/, '+'],
  [/^([1-9]\d{10,})$/, '+'],
]

/** A number as the number areas key it: national numbers get +1, others a plus. */
export const normalizeNumber = (text: string): string => {
  for (const [form, prefix] of converters) {
    const match = form.exec(text)
    if (match) return prefix + match[1]
  }
  return text
}

export const isE164 = (text: string) => /^\+[1-9]\d{1,14}$/.test(text)
