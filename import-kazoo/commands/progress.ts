const toldEveryMs = 5000

export const tell = (text: string) => process.stderr.write(`${text}\n`)

export const counted = (count: number) => count.toLocaleString('en-US')

/** Now and then a line about where a run is, and how fast. */
export const createTold = () => {
  const begun = performance.now()
  let told = begun
  let documents = 0
  return ({
    chapter,
    database,
    documents: some,
  }: {
    chapter: string
    database: string
    documents: number
  }) => {
    documents += some
    const now = performance.now()
    if (now - told < toldEveryMs) return
    told = now
    const rate = Math.round(documents / ((now - begun) / 1000))
    tell(`${chapter}: ${database}, ${counted(documents)} documents, ${counted(rate)} a second`)
  }
}
