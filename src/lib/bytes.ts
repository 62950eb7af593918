/** The pieces as one; copied only when there are several. */
export const inOnePiece = (pieces: readonly Buffer[]): Buffer => {
  const [first] = pieces
  return first && pieces.length === 1 ? first : Buffer.concat(pieces)
}
