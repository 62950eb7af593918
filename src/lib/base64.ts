// Linear in the length of the text.
const base64 = /^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/

/** Spaces and line breaks are allowed. */
export const isBase64 = (text: string) => base64.test(text)
