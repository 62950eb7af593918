// Bounds an index row.
const longest = 128

/** Letters and digits in lower case. */
export const searchKey = (text: string) =>
  [...text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')].slice(0, longest).join('')
