/** Letters, digits, dots, blanks, dashes and underscores of the last part of a path. */
export const bareFileName = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? '')
    .replace(/[^\p{L}\p{M}\p{N}_.\- ]/gu, '_')
    .slice(0, 200)
    .toWellFormed()
