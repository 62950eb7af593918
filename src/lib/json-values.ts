const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openBracket = 0x5b
const openBrace = 0x7b

/** `from`: the opening quote. */
export const endOfString = (text: string, from: number) => {
  let at = from + 1
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) break
  }
  return at
}

/** Counts the values of a JSON text, objects and arrays in others twice. */
export const valuesIn = (text: string): number => {
  let values = 1
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === comma || code === openBracket || code === openBrace) values += 1
  }
  return values
}
