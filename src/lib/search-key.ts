// Bounds what an index row holds; nobody types more into a search box.
const longest = 128

/** What of a text counts when it is searched for: its letters and digits, lower-cased. */
export const searchKey = (text: string) =>
  [...text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')].slice(0, longest).join('')
