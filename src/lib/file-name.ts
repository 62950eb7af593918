/** The last part of a path, without special characters. */
export const bareFileName = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? '')
    .replace(/[^\p{L}\p{M}\p{N}_.\- ]/gu, '_')
    .slice(0, 200)
    .toWellFormed()
