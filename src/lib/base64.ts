// No character fits in two places: texts that are none are refused in one walk, whatever their length.
const base64 = /^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/

/** Whether a text is base64, line breaks and other spaces allowed. */
export const isBase64 = (text: string) => base64.test(text)
